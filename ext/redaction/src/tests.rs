use super::*;

fn masked(text: &str) -> String {
    let mut out = Vec::new();
    mask(text.as_bytes(), Care::Full, &mut out);
    String::from_utf8_lossy(&out).into_owned()
}

/// Parts that would be keys if they stood in one piece; joined here so that no scanner takes this file for a leak.
fn key(parts: &[&str]) -> String {
    parts.concat()
}

fn token() -> String {
    key(&["ghp_", "Zx81Qa7LmN0pRt5VwYb3Zx81Qa7LmN0pRt5V"])
}

#[test]
fn what_is_marked_as_private_goes_with_its_marks() {
    for (text, expected) in [
        ("a <private>Nordwind Bank</private> b", "a [redacted:private] b"),
        ("a <PRIVATE>x\ny\n</Private>\nb", "a [redacted:private]\nb"),
        ("a <private >x</private > b <private>y</private>", "a [redacted:private] b [redacted:private]"),
        ("a <private>x <private>y</private> z</private> b", "a [redacted:private] b"),
        ("a <private>to the end\n\nof it", "a [redacted:private]"),
        ("<private>password=hunter2x</private>", "[redacted:private]"),
        ("<private></private>", "[redacted:private]"),
    ] {
        assert_eq!(masked(text), expected);
    }
    for kept in
        ["</private> is the closing one", "<privateer>x</privateer>", "vec<private_key> < private >", "private: x"]
    {
        assert_eq!(masked(kept), kept);
    }
}

#[test]
fn passwords_that_their_place_tells_are_masked() {
    for (text, expected) in [
        ("htpasswd -b f joe Zitrone99", "htpasswd -b f joe [redacted:keyed-value]"),
        ("htpasswd -cbB -C 12 f joe 'Zitrone q9Zt7!'", "htpasswd -cbB -C 12 f joe '[redacted:keyed-value]'"),
        ("htpasswd -nb joe Zitrone99 | tee f", "htpasswd -nb joe [redacted:keyed-value] | tee f"),
        (
            "az login --service-principal -u a -p Qx8very99 --tenant t",
            "az login --service-principal -u a -p [redacted:keyed-value] --tenant t",
        ),
        ("net user joe Zitrone99 /add", "net user joe [redacted:keyed-value] /add"),
        ("echo 密码：樱桃蛋糕77", "echo 密码：[redacted:keyed-value]"),
        ("密码是 \"樱桃蛋糕77\"。", "密码是 \"[redacted:keyed-value]\"。"),
        ("パスワード: sakura77。次", "パスワード: [redacted:keyed-value]。次"),
        ("Пароль: вишня77, да", "Пароль: [redacted:keyed-value], да"),
        ("mot de passe : cerise77", "mot de passe : [redacted:keyed-value]"),
        ("PGPASSWORD=hunter2-Xy9 psql -h db", "PGPASSWORD=[redacted:keyed-value] psql -h db"),
    ] {
        assert_eq!(masked(text), expected);
        assert_eq!(masked(expected), expected);
    }
    for kept in [
        "htpasswd f joe",
        "htpasswd -b f joe $PASSWORD",
        "htpasswd -D f joe",
        "net user joe /delete",
        "net user joe *",
        "the net user count grew",
        "az login -u a",
        "密码：必须填写",
        "密码：至少8位",
        "пароль: обязателен",
        "mot de passe : oublié",
        "le mot de passe est vide",
    ] {
        assert_eq!(masked(kept), kept);
    }
}

#[test]
fn what_only_looks_like_a_mark_hides_nothing() {
    for head in
        ["[redacted ", "[redacted by hand ", "[redacted: ", "[redacted:Ab] ", "[redacted:x y] ", "see [redacted\n"]
    {
        let text = format!("{head}password=Tr0ub4dor9x {}", token());
        assert_eq!(masked(&text), format!("{head}password=[redacted:keyed-value] [redacted:github-token]"));
    }
    assert_eq!(masked("password=[redactedTr0ub4dor9x"), "password=[redacted:keyed-value]");
    assert_eq!(masked("password=[redacted:Tr0ub4dor9x"), "password=[redacted:keyed-value]");
    for kept in ["password=[redacted]", "password=[redacted:keyed-value]", "password=[redacted:keyed-va"] {
        assert_eq!(masked(kept), kept);
    }
}

#[test]
fn ids_lose_issuers_tokens_alone() {
    let mut out = Vec::new();
    let text = format!("session-x7Kp2mQ9vL4tR8wZ1nB6cY3 {} x{}", token(), token());
    mask(text.as_bytes(), Care::IdsKept, &mut out);
    let expected = format!("session-x7Kp2mQ9vL4tR8wZ1nB6cY3 [redacted:github-token] x{}", token());
    assert_eq!(String::from_utf8_lossy(&out), expected);
    assert!(
        finds(text.as_bytes(), Care::IdsKept) && !finds(b"sdk-550e8400-e29b-41d4-a716-446655440000", Care::IdsKept)
    );
}

#[test]
fn a_cut_tears_neither_a_mark_nor_a_character_nor_a_secret() {
    let text = "é password=Tr0ub4dor ".repeat(60);
    for limit in 20..90 {
        let clean = mask_cut(text.as_bytes(), limit, 4 * limit);
        assert!(clean.len() <= limit && std::str::from_utf8(&clean).is_ok());
        let clean = String::from_utf8_lossy(&clean).replace("[redacted:keyed-value]", "");
        assert!(!clean.contains("[redacted") && !clean.contains("Tr0u"), "{clean}");
    }
    for before in 150..256 {
        let text = format!("{} {} and more", "x ".repeat(before / 2), token());
        assert!(!String::from_utf8_lossy(&mask_cut(text.as_bytes(), 256, 256)).contains("ghp_Zx"));
    }
    assert_eq!(mask_cut(b"short", 100, 400), b"short");
    assert_eq!(mask_cut("ä".repeat(9).as_bytes(), 5, 100), "ää".as_bytes());
}

#[test]
fn fields_of_records_are_judged_by_their_name() {
    for (name, value) in
        [("password", "plum"), ("API_KEY", "abc"), ("db_pass", "x y"), ("pass", "Plum7"), ("token", "a1b2c3")]
    {
        assert!(is_field_secret(name.as_bytes(), value.as_bytes()), "{name}: {value}");
    }
    for (name, value) in [
        ("password", ""),
        ("password", "${X}"),
        ("password", "required"),
        ("token_url", "https://x.example/a"),
        ("author", "plum"),
        ("token", "string"),
        ("compass", "north7"),
        ("cache_key", "user42"),
        ("token", "7"),
    ] {
        assert!(!is_field_secret(name.as_bytes(), value.as_bytes()), "{name}: {value}");
    }
    assert!(tells(b"--db-password") && tells(b"clientSecret") && !tells(b"keyboard") && !tells(b"content"));
}

/// Repeated, each asks for more than its share of some rule.
const UNITS: [&str; 86] = [
    "key=",
    "token: ",
    "\"password",
    "sk-",
    "://",
    "BEGIN PRIVATE KEY",
    "pass== ",
    "a1/",
    "\\\"",
    "ä😀key=ö",
    "AC-",
    "SK,",
    "mysql -pabcdef ",
    "sshpass -p x ",
    "curl -u a:b ",
    "pass='\\",
    "authorization:",
    "http://",
    "set -x -y ",
    "login x ",
    "1f2e3d4c5b6a-",
    "IDENTIFIED BY ",
    "key,value=",
    "key value='\\",
    "password: |\n  a b ",
    "curl \\\n",
    "docker login -p= ",
    "npm set -a ",
    "user: pass: '",
    "sk-T3BlbkFJ",
    "A3-",
    "12345678:",
    ".atlasv1.",
    "sdk-",
    "value=a,",
    "value:\"a\",\"b\":1,",
    "\"value\":'",
    "\"key\",\"a\":1,",
    "echo x ",
    "zip -P ",
    "http -a b ",
    "auth=('a',",
    "thin:a/",
    "data:image/png;base64,",
    "eyJ",
    "eyJaaaa.",
    "password",
    "password.",
    "password=",
    "password=x&",
    "password=password token=",
    "password:",
    "password: a",
    "api_key ",
    "-password-",
    "-a-password ",
    "<password",
    "<password>",
    "<password ",
    "----BEGIN PRIVATE KEY----",
    "-----BEGIN CERTIFICATE-----\nQUJD",
    "postgres://a:b",
    "postgres://a:b@c/",
    "curl ",
    "curl a:b -",
    "mysql ",
    "echo ",
    "echo \"a\" ",
    "redis-cli ",
    "put-parameter --value ",
    "htpasswd -b ",
    "<private>",
    "<private>a</private>",
    "</private>",
    "密码",
    "密码：a1",
    "cookie: a=x;",
    "cookie=cookie=xxx;",
    "bearer ",
    "[redacted",
    "[redacted:x]",
    "password=[redacted:x] ",
    "PuTTY-User-Key-File-2:",
    "pass=;",
    "password=a;",
    "name: password\n  value: ${X}\n",
];

#[test]
fn masking_keeps_utf8_whole_and_twice_is_as_good_as_once() {
    for unit in UNITS {
        let out = masked(&unit.repeat(20_000 / unit.len()));
        assert!(!out.contains('\u{fffd}'), "{unit}");
        assert_eq!(masked(&out), out, "{unit}");
    }
}

/// Rules that read so many bytes of a value at most stop anywhere, in the middle of a character too.
#[test]
fn what_is_longer_than_its_rule_reads_is_cut_between_characters() {
    for head in ["密码：", "my password is '", "pass='"] {
        for lead in ["q7Zt91LmX", "q7Z"] {
            let out = masked(&format!("{head}{lead}{}", "ö".repeat(700)));
            assert!(out.contains("[redacted:") && !out.contains('\u{fffd}'), "{head}{lead}: {out}");
        }
    }
}

/// The time that this thread has had a processor; the clock where the system does not tell.
fn spent() -> std::time::Duration {
    let known = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let nanoseconds = known.and_then(|line| line.split(' ').next().and_then(|first| first.parse().ok()));
    nanoseconds.map_or_else(
        || std::time::SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default(),
        std::time::Duration::from_nanos,
    )
}

#[test]
fn masking_stays_linear() {
    let time = |text: &str| {
        let began = spent();
        std::hint::black_box(masked(text));
        spent().saturating_sub(began)
    };
    for unit in UNITS {
        let (short, long) = (unit.repeat(50_000 / unit.len()), unit.repeat(400_000 / unit.len()));
        // Eight times the length; what is quadratic takes 64 times as long. The least of some runs: caches are shared.
        // The system counts a thread's time at its ticks only.
        let least = (0..3).map(|_| time(&short)).min().unwrap_or_default().max(std::time::Duration::from_millis(4));
        let linear = (0..3).any(|_| time(&long) < 24 * least);
        assert!(linear, "{unit}");
    }
}
