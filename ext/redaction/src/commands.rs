//! Finds secrets in the arguments of programs, with no telling name beside them: `curl -u me:…`, `redis-cli -a …`.

use crate::bytes::{byte, is_blank, is_edge, is_line_end, is_quote, is_space, is_word, part, position, run, starts};
use crate::judge::is_typed_value;
use crate::statements;
use crate::words::{is_placeholder, is_reference};
use crate::{Range, Spans};

/// What stands between an option and its value.
#[derive(Clone, Copy)]
enum Gap {
    /// White space.
    Blank,
    /// White space, or nothing.
    MaybeBlank,
    /// One of " =".
    Sign,
    /// Some of " =".
    Signs,
    /// Some of " =", or nothing.
    MaybeSigns,
    Nothing,
}

/// Which part of an argument is the secret.
#[derive(Clone, Copy)]
enum Part {
    /// All of it, in quotes or not.
    Argument,
    /// So many bytes or more, without its quotes, which may be open.
    Loose(usize),
    /// In quotes, or so many bytes or more.
    Quoted(usize),
    /// What is behind this sign.
    Behind(u8),
}

/// A program whose option holds a secret.
struct Tool {
    names: &'static [&'static [u8]],
    /// Words that must follow the name.
    verbs: &'static [&'static [u8]],
    options: &'static [&'static [u8]],
    gap: Gap,
    part: Part,
    rule: &'static str,
    /// Whether the words around it have a say: prose has the same.
    judged: bool,
    /// Whether it goes on behind `|`, `;` and `&`, which addresses hold.
    whole_line: bool,
}

const fn tool(
    names: &'static [&'static [u8]],
    verbs: &'static [&'static [u8]],
    options: &'static [&'static [u8]],
    gap: Gap,
    part: Part,
) -> Tool {
    Tool { names, verbs, options, gap, part, rule: "keyed-value", judged: true, whole_line: false }
}

const TOOLS: [Tool; 15] = [
    Tool {
        rule: "curl-user",
        judged: false,
        whole_line: true,
        ..tool(&[b"curl"], &[], &[b"-u", b"-U", b"--user", b"--proxy-user"], Gap::MaybeSigns, Part::Behind(b':'))
    },
    Tool { rule: "sshpass", judged: false, ..tool(&[b"sshpass"], &[], &[b"-p"], Gap::MaybeBlank, Part::Loose(1)) },
    Tool {
        rule: "mysql-password",
        judged: false,
        ..tool(
            &[
                b"mysql", b"mysqldump", b"mysqladmin", b"mysqlimport", b"mysqlshow", b"mysqlcheck", b"mariadb",
                b"mariadb-dump", b"mariadb-admin",
            ],
            &[],
            &[b"-p"],
            Gap::Nothing,
            Part::Quoted(3),
        )
    },
    tool(
        &[b"docker", b"podman", b"nerdctl", b"buildah", b"skopeo", b"helm", b"oras", b"crane"],
        &[b"login", b"registry login", b"auth login"],
        &[b"-p"],
        Gap::MaybeSigns,
        Part::Loose(3),
    ),
    tool(&[b"redis-cli", b"valkey-cli"], &[], &[b"-a"], Gap::Blank, Part::Argument),
    tool(
        &[b"zip", b"unzip", b"sqlcmd", b"bcp", b"mosquitto_pub", b"mosquitto_sub"],
        &[],
        &[b"-P"],
        Gap::Blank,
        Part::Argument,
    ),
    tool(&[b"openssl"], &[], &[b"-k", b"-K"], Gap::Blank, Part::Argument),
    tool(&[b"ldapsearch", b"ldapadd", b"ldapmodify", b"ldapwhoami"], &[], &[b"-w"], Gap::Blank, Part::Argument),
    tool(&[b"mongosh", b"mongodump", b"mongorestore"], &[], &[b"-p"], Gap::Blank, Part::Argument),
    tool(&[b"nmcli"], &[], &[b"password"], Gap::Blank, Part::Argument),
    tool(&[b"http", b"https"], &[], &[b"-a", b"--auth"], Gap::Sign, Part::Behind(b':')),
    tool(&[b"smbclient"], &[], &[b"-U"], Gap::MaybeBlank, Part::Behind(b'%')),
    tool(&[b"gh", b"keyvault"], &[b"secret set"], &[b"--body", b"-b", b"--value"], Gap::Signs, Part::Argument),
    tool(&[b"az"], &[b"login"], &[b"-p"], Gap::Signs, Part::Argument),
    tool(&[b"put-parameter"], &[], &[b"--value"], Gap::Signs, Part::Argument),
];

/// How many there are, with what is piped and what its place tells.
pub(crate) const RULES: usize = TOOLS.len() + 3;

/// The first words of all programs' names.
pub(crate) const PROGRAMS: &[u8] =
    b" curl sshpass mysql mysqldump mysqladmin mysqlimport mysqlshow mysqlcheck mariadb docker podman nerdctl buildah \
skopeo helm oras crane redis valkey zip unzip sqlcmd bcp mosquitto_pub mosquitto_sub openssl ldapsearch ldapadd \
ldapmodify ldapwhoami mongosh mongodump mongorestore nmcli http https smbclient gh keyvault az put echo printf htpasswd \
net ";
/// Options of curl that have no value and may stand before `-u` in one word.
const CURL_FLAGS: &[u8] = b"#0123456789aBfgGijJklLnNOpqRsSvVZ";
/// Words among which a password by its place is looked for.
const LONGEST_LIST: usize = 12;
/// What reads a password from a pipe.
const READERS: [&[u8]; 4] = [b"sudo -S", b"--password-stdin", b"chpasswd", b"passwd --stdin"];

#[derive(Default)]
pub(crate) struct State {
    seen: Seen,
    rows: statements::Seen,
}

/// Up to where the text was read for each tool, and for what is piped.
#[derive(Default)]
struct Seen {
    tools: [usize; TOOLS.len()],
    piped: usize,
    ends: Ends,
}

/// Where the latest commands end: one that begins inside of another ends with it.
#[derive(Default)]
struct Ends {
    line: usize,
    command: usize,
    /// Whether the command that ends there asks for a secret's storage.
    secure: (usize, bool),
}

impl Ends {
    fn of(&mut self, text: &[u8], at: usize, whole_line: bool) -> usize {
        let end = if whole_line { &mut self.line } else { &mut self.command };
        if at >= *end {
            *end = command_end(text, at, whole_line);
        }
        *end
    }

    fn is_secure(&mut self, text: &[u8], at: usize, end: usize) -> bool {
        if self.secure.0 != end {
            self.secure = (end, position(part(text, at, end), 0, b"SecureString").is_some());
        }
        self.secure.1
    }
}

/// Looks at the word from `at` to `end`, which `scan` takes for a program's name.
pub(crate) fn find(text: &[u8], at: usize, end: usize, state: &mut State, spans: &mut Spans) {
    program(text, at, end, &mut state.seen, spans);
    statements::read(text, at, end, &mut state.rows, spans);
}

fn take(text: &[u8], tool: &Tool, head: usize, (start, end): Range, spans: &mut Spans) {
    let content = part(text, start, end);
    let known = is_reference(content) || tool.rule == "curl-user" && is_placeholder(content);
    if !known && (!tool.judged || is_typed_value(text, head, start, end)) {
        spans.add(start, end, tool.rule);
    }
}

/// The arguments of the program whose name begins with the word from `at` to `word_end`.
fn program(text: &[u8], at: usize, word_end: usize, seen: &mut Seen, spans: &mut Spans) {
    let word = part(text, at, word_end);
    if matches!(word, b"echo" | b"printf") && at >= seen.piped && is_blank(byte(text, word_end)) {
        seen.piped = piped(text, at, word_end, spans);
        return;
    }
    if matches!(word, b"htpasswd" | b"net") {
        if let Some((start, end)) = positional(text, word, word_end, &mut seen.ends) {
            let content = part(text, start, end);
            if !is_reference(content) && is_typed_value(text, at, start, end) {
                spans.add(start, end, "keyed-value");
            }
        }
        return;
    }
    let Seen { tools, ends, .. } = seen;
    for (tool, seen) in TOOLS.iter().zip(tools) {
        let named = |name: &&&[u8]| name.starts_with(word) && starts(text, at, name) && is_edge(text, at + name.len());
        if at < *seen || !tool.names.iter().any(|name| name.first() == word.first()) {
            continue;
        }
        let Some(name) = tool.names.iter().rfind(named) else { continue };
        let Some(start) = verb_end(text, at + name.len(), tool.verbs) else { continue };
        let end = ends.of(text, start, tool.whole_line);
        *seen = end;
        if let Some(value) = option_value(text, tool, start, end) {
            *seen = value.1;
            if tool.names.first() != Some(&&b"put-parameter"[..]) || ends.is_secure(text, start, end) {
                take(text, tool, at, value, spans);
            }
        }
    }
}

/// Behind the words that a program's name must be followed by.
fn verb_end(text: &[u8], at: usize, verbs: &[&[u8]]) -> Option<usize> {
    if verbs.is_empty() {
        return Some(at);
    }
    verbs.iter().find_map(|verb| {
        let end = verb.split(|byte| *byte == b' ').try_fold(at, |at, word| {
            let start = run(text, at, is_blank);
            (start > at && starts(text, start, word)).then_some(start + word.len())
        })?;
        (!is_word(byte(text, end))).then_some(end)
    })
}

/// The end of a command, which goes on behind a backslash at a line's end.
fn command_end(text: &[u8], mut at: usize, whole_line: bool) -> usize {
    loop {
        let end = run(text, at, |byte| !is_line_end(byte) && (whole_line || !b"|;&".contains(&byte)));
        let line = end + usize::from(byte(text, end) == b'\r');
        if part(text, at, end).last() != Some(&b'\\') || byte(text, line) != b'\n' {
            return end;
        }
        at = line + 1;
    }
}

/// The value of the first of a tool's options that has one.
fn option_value(text: &[u8], tool: &Tool, start: usize, end: usize) -> Option<Range> {
    (start..end).filter(|at| is_space(byte(text, *at))).find_map(|at| {
        let option = at + 1;
        let name_end = if tool.rule == "curl-user" {
            curl_option_end(text, option)
        } else {
            tool.options.iter().find(|name| starts(text, option, name)).map(|name| option + name.len())
        };
        let value = gap_end(text, name_end?, tool.gap)?;
        value_of(text, value, end, tool.part)
    })
}

fn curl_option_end(text: &[u8], at: usize) -> Option<usize> {
    if byte(text, at) != b'-' {
        return None;
    }
    let long = [&b"--user"[..], b"--proxy-user"].into_iter().find(|name| starts(text, at, name));
    let plain = run(text, at + 1, |byte| CURL_FLAGS.contains(&byte));
    let short = b"uU".contains(&byte(text, plain)).then_some(plain + 1);
    long.map(|name| at + name.len()).or(short)
}

fn gap_end(text: &[u8], at: usize, gap: Gap) -> Option<usize> {
    let signs = run(text, at, |byte| b" =".contains(&byte));
    let blank = run(text, at, is_blank);
    match gap {
        Gap::Blank => Some(blank).filter(|end| *end > at),
        Gap::MaybeBlank => Some(blank),
        Gap::Sign => b" =".contains(&byte(text, at)).then_some(at + 1),
        Gap::Signs => Some(signs).filter(|end| *end > at),
        Gap::MaybeSigns => Some(signs),
        Gap::Nothing => Some(at),
    }
}

/// Which part of the argument at `at` is the secret; None where it is no argument of that kind.
fn value_of(text: &[u8], at: usize, end: usize, kind: Part) -> Option<Range> {
    let bare = |from: usize| run(text, from, |byte| !is_space(byte) && !b"\"'".contains(&byte));
    let unquoted = at + usize::from(b"\"'".contains(&byte(text, at)));
    match kind {
        Part::Argument => argument(text, at),
        Part::Loose(least) => Some((unquoted, bare(unquoted))).filter(|value| value.1 >= value.0 + least),
        Part::Quoted(least) => {
            let quote = byte(text, at);
            let close = run(text, unquoted, |byte| byte != quote && !is_line_end(byte));
            let value = if unquoted > at { (unquoted, close) } else { (at, bare(at)) };
            let least = if unquoted > at { 1 } else { least };
            (value.1 >= value.0 + least).then_some(value)
        }
        Part::Behind(sign) => {
            let user = run(text, unquoted, |byte| !is_space(byte) && !b"\"'".contains(&byte) && byte != sign);
            let value = (user + 1, bare(user + 1));
            (byte(text, user) == sign && value.1 > value.0 && user < end).then_some(value)
        }
    }
}

/// The argument at `at`, in quotes, which may be escaped, or bare; an option is none.
pub(crate) fn argument(text: &[u8], at: usize) -> Option<Range> {
    let open = at + usize::from(byte(text, at) == b'\\');
    let quote = byte(text, open);
    if b"\"'".contains(&quote) {
        let close = run(text, open + 1, |byte| byte != quote && !is_line_end(byte));
        return (byte(text, close) == quote && close > open + 1).then_some((open + 1, close));
    }
    let in_word = |byte: u8| !is_space(byte) && !is_quote(byte) && !b"|;&\\".contains(&byte);
    let end = run(text, at, in_word);
    (end > at && quote != b'-').then_some((at, end))
}

/// `echo VALUE | sudo -S`: the last argument before the pipe. Returns up to where the text was read.
fn piped(text: &[u8], head: usize, word_end: usize, spans: &mut Spans) -> usize {
    let end = run(text, word_end, |byte| !is_line_end(byte) && !b"|;&".contains(&byte));
    let places = (word_end..end).filter(|at| is_blank(byte(text, *at)) && !is_blank(byte(text, at + 1)));
    for at in places {
        let Some((start, stop)) = argument(text, at + 1) else { continue };
        let quote = usize::from(b"\"'".contains(&byte(text, stop)));
        let pipe = run(text, stop + quote, is_blank);
        if byte(text, pipe) != b'|' {
            continue;
        }
        let next = part(text, pipe, run(text, pipe + 1, |byte| !is_line_end(byte) && !b"|;&".contains(&byte)));
        if READERS.iter().any(|reader| position(next, 0, reader).is_some()) {
            if !is_reference(part(text, start, stop)) && is_typed_value(text, head, start, stop) {
                spans.add(start, stop, "keyed-value");
            }
            return pipe;
        }
    }
    end
}

/// The password that its place alone tells: `htpasswd -b FILE USER PASSWORD`, `net user NAME PASSWORD`.
fn positional(text: &[u8], program: &[u8], at: usize, ends: &mut Ends) -> Option<Range> {
    let end = ends.of(text, at, false);
    let mut place = at;
    let mut words = std::iter::from_fn(|| {
        let start = run(part(text, 0, end), place, |byte| is_space(byte) || byte == b'\\');
        let word = argument(text, start).filter(|_| byte(text, start) != b'-');
        let stop = run(text, start, |byte| !is_space(byte)).max(word.map_or(0, |word| word.1));
        place = stop + usize::from(word.is_some_and(|word| word.0 > start));
        (start < end && start < stop).then_some((part(text, start, stop), word.unwrap_or((start, stop))))
    });
    if program == b"net" {
        words.next().filter(|(word, _)| word.eq_ignore_ascii_case(b"user"))?;
        let (_, name) = words.next()?;
        let (word, value) = words.next()?;
        let typed = !b"/*-\"'".contains(&byte(word, 0)) || value.0 > name.1 + 1;
        return (typed && !b"/*-".contains(&byte(word, 0))).then_some(value);
    }
    let (mut batch, mut count, mut wanted) = (false, 0, 2);
    for _ in 0..LONGEST_LIST {
        let (word, value) = words.next()?;
        match word {
            [b'-', b'C' | b'r'] => drop(words.next()),
            [b'-', flags @ ..] => {
                batch |= flags.contains(&b'b');
                // With -n there is no file.
                wanted = if flags.contains(&b'n') { 1 } else { wanted };
            }
            _ if count == wanted => return Some(value).filter(|_| batch),
            _ => count += 1,
        }
    }
    None
}
