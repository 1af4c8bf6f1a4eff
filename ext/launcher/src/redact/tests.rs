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

#[test]
fn keys_of_known_issuers_are_masked_wherever_they_stand() {
    let body = "Zx81Qa7LmN0pRt5VwYb3";
    for prefix in [
        "sk-ant-api03-", "ghp_", "github_pat_", "glpat-", "AKIA", "AIzaSy", "xoxb-1-", "npm_", "sk_live_", "SG.", "hf_",
    ] {
        let secret = key(&[prefix, body, "K"]);
        for text in [secret.clone(), format!("use {secret} now"), format!("(\"{secret}\")"), format!("x={secret}&y=1")]
        {
            let out = masked(&text);
            assert!(!out.contains(body), "{text} -> {out}");
        }
    }
}

#[test]
fn values_of_telling_names_are_masked_in_many_notations() {
    let secret = "h&nt3r2 cow";
    for text in [
        "password = \"h&nt3r2 cow\"",
        "'db_password': 'h&nt3r2 cow',",
        "{\\\"apiKey\\\": \\\"h&nt3r2 cow\\\"}",
        "secret(\"h&nt3r2 cow\")",
        "private_key \"h&nt3r2 cow\"",
        "if (\"h&nt3r2 cow\" == my_password) {}",
        "getenv(\"AUTH_TOKEN\", \"h&nt3r2 cow\")",
        "password := `h&nt3r2 cow`",
        "client_secret=>'h&nt3r2 cow'",
        "char my_password[25] = \"h&nt3r2 cow\";",
        "<password>h&nt3r2 cow</password>",
        "Cookie: sid=h&nt3r2 cow; x",
        "password = \"\"\"h&nt3r2 cow\"\"\"",
    ] {
        let out = masked(text);
        assert!(!out.contains(secret), "{text} -> {out}");
    }
}

#[test]
fn bare_values_are_masked_to_the_next_space() {
    for (text, expected) in [
        ("PASSWORD=hunter2 ls", "PASSWORD=[redacted:assignment] ls"),
        ("export API_KEY=abc\nls", "export API_KEY=[redacted:assignment]\nls"),
        ("curl --token abc url", "curl --token [redacted:assignment] url"),
        ("the password is hunter2, ok", "the password is [redacted:assignment], ok"),
        ("Bearer abc123def", "Bearer [redacted:assignment]"),
        ("token: Bearer abc12def x", "token: Bearer [redacted:assignment] x"),
        ("pin, pwd=1234", "pin, pwd=[redacted:assignment]"),
        ("?sig=abc%2Bd&x=1", "?sig=[redacted:assignment]"),
    ] {
        assert_eq!(masked(text), expected);
    }
}

#[test]
fn urls_lose_their_credentials_and_keep_their_host() {
    assert_eq!(masked("postgres://u:p@db/x"), "postgres://[redacted:url-credentials]@db/x");
    assert_eq!(masked("redis://:pw@h:1"), "redis://[redacted:url-credentials]@h:1");
    assert_eq!(masked("ssh://git@h/r.git"), "ssh://git@h/r.git");
    assert_eq!(masked("https://h/a@b"), "https://h/a@b");
}

#[test]
fn key_blocks_go_whole_even_when_cut() {
    let head = "-----BEGIN RSA PRIVATE KEY-----";
    assert_eq!(masked(&format!("a {head}\nMIIx\n-----END RSA PRIVATE KEY----- b")), "a -----[redacted:private-key] b");
    assert_eq!(masked(&format!("a {head}\\nMIIx")), "a -----[redacted:private-key]");
    assert_eq!(masked("-----BEGIN CERTIFICATE----- abc"), "-----BEGIN CERTIFICATE----- abc");
}

#[test]
fn random_runs_are_masked() {
    for secret in [
        key(&["wJalrXUtnFEMI", "/K7MDENG/", "bPxRfiCYEXAMPLEKEY"]),
        "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b".to_owned(),
        "dGhpcyBpcyBhIHNlY3JldCBrZXkgMTIz".to_owned(),
        "x7Kp-2mQ9_vL4tR8wZ1nB6cY3".to_owned(),
        key(&["123456789:", "AAE9-x7Kp2mQ9vL4tR8wZ1nB6cY3dF5gH0j"]),
        key(&["eyJhbGciOiJIUzI1NiJ9.", "eyJzdWIiOiIxIn0", ".sflKxwRJSMeKKF2QT4"]),
    ] {
        let out = masked(&format!("see {secret} there"));
        assert!(!out.contains(&secret) && out.contains("[redacted:"), "{secret} -> {out}");
        assert!(out.starts_with("see ") && out.ends_with(" there"), "{out}");
    }
}

#[test]
fn what_identifies_things_is_kept() {
    for text in [
        "0ae1c2d3-1111-4222-8333-444455556666",
        "/home/u/.claude/projects/-home-u-proj/0ae1c2d3-1111-4222-8333-444455556666.jsonl",
        "toolu_01A09q90qw90lq917835lq9",
        "src/context_graph/identity/test_kuramoto_13.py",
        "/usr/lib/python3.11/site-packages/detect_secrets/plugins/base64utf8.py",
        "test_utf8_decoding_of_long_strings_2",
        "commit 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b",
        "getElementsByClassNameAndIndex2",
        "2026-11-21T23:59:59.123Z build-2026-11-21-nightly",
        "The author passed the keyboard; passive voice, privately monkeying.",
        "max_tokens=4096, key: 1, auth: true",
        "a b c d e f g h i j k l m n o p",
        "mcp__context-graph__store_memory",
        "input tokens and the token count of the key question",
    ] {
        assert_eq!(masked(text), text);
    }
}

#[test]
fn names_of_fields_tell_secrets() {
    for name in ["password", "API_KEY", "accessToken", "Authorization", "set-cookie", "db_pw", "clientSecret", "pass"] {
        assert!(names_a_secret(name.as_bytes()), "{name}");
    }
    for name in ["file_path", "author", "keyboard", "passive", "content", "compass", "signal", "pwned", "sigma"] {
        assert!(!names_a_secret(name.as_bytes()), "{name}");
    }
    assert!(is_password_word(b"userPassword") && !is_password_word(b"max_tokens"));
}

#[test]
fn ids_keep_their_digits_but_not_a_key() {
    let mut out = Vec::new();
    let secret = key(&["ghp_", "Zx81Qa7LmN0pRt5VwYb3Zx81Qa7LmN0pRt5V"]);
    let text = format!("session-x7Kp2mQ9vL4tR8wZ1nB6cY3 {secret}");
    mask(text.as_bytes(), Care::IdsKept, &mut out);
    assert_eq!(String::from_utf8_lossy(&out), "session-x7Kp2mQ9vL4tR8wZ1nB6cY3 [redacted:key]");
}

/// Repeated, each asks for more than its share of some rule.
const UNITS: [&str; 44] = [
    "key=", "token: ", "\"password", "sk-", "://", "BEGIN PRIVATE KEY", "pass== ", "a1/", "\\\"", "ä😀key=ö", "AC-",
    "SK,", "mysql -pabcdef ", "sshpass -p x ", "curl -u a:b ", "pass='\\", "authorization:", "http://", "set -x -y ",
    "login x ", "1f2e3d4c5b6a-", "IDENTIFIED BY ", "key,value=", "key value='\\", "password: |\n  a b ", "curl \\\n",
    "docker login -p= ", "npm set -a ", "user: pass: '", "sk-T3BlbkFJ", "A3-", "12345678:", ".atlasv1.", "sdk-",
    "value=a,", "value:\"a\",\"b\":1,", "\"value\":'", "\"key\",\"a\":1,", "echo x ", "zip -P ", "http -a b ",
    "auth=('a',", "thin:a/", "data:image/png;base64,",
];

#[test]
fn masking_keeps_utf8_whole() {
    for unit in UNITS {
        let out = masked(&unit.repeat(200_000 / unit.len()));
        assert!(std::str::from_utf8(out.as_bytes()).is_ok() && !out.contains('\u{fffd}'), "{unit}");
    }
}

#[test]
fn masking_stays_linear() {
    let time = |text: &str| {
        let began = std::time::Instant::now();
        std::hint::black_box(masked(text));
        began.elapsed()
    };
    for unit in UNITS {
        let (short, long) = (unit.repeat(5_000 / unit.len()), unit.repeat(40_000 / unit.len()));
        // Eight times the length; what is quadratic takes 64 times as long. The least of many runs: others run too.
        let least = (0..20).map(|_| time(&short)).min().unwrap_or_default();
        let linear = (0..20).any(|_| time(&long) < 40 * least);
        assert!(linear, "{unit}");
    }
}

#[test]
fn values_in_fields_and_blocks_are_masked_to_their_end() {
    for (text, expected) in [
        ("- name: DB_PASSWORD\n  value: plum7\n- b", "- name: DB_PASSWORD\n  value: [redacted:assignment]\n- b"),
        ("password: |\n  a1b2c3\n  d4\nuser: me", "password: |\n  [redacted:assignment]\nuser: me"),
        (
            "{\"value\": \"plum7\", \"name\": \"API_KEY\"}",
            "{\"value\": \"[redacted:assignment]\", \"name\": \"API_KEY\"}",
        ),
        ("zip -P plum7 a.zip b", "zip -P [redacted:assignment] a.zip b"),
        ("echo 'plum 7' | sudo -S ls", "echo '[redacted:assignment]' | sudo -S ls"),
        ("curl -su bob:plum7 x", "curl -su bob:[redacted:assignment] x"),
        ("podman login \\\n -p 'plum7' x", "podman login \\\n -p '[redacted:assignment]' x"),
        ("mysql -p'two words' db", "mysql -p'[redacted:assignment]' db"),
    ] {
        assert_eq!(masked(text), expected);
    }
}
