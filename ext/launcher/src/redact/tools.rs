//! Finds secrets in the arguments of programs that take them under names of their own: `redis-cli -a`, `zip -P`.

use super::values::quoted;
use super::{is_quote, is_space, stretch, words as prose, Span};

const LINE_MAX: usize = 1024;
const RULE: &str = "assignment";

/// Which part of an argument is the secret.
#[derive(Clone, Copy)]
enum Part {
    Whole,
    After(u8),
}

/// A program, what its line must say besides, its options with a secret, and where in the value that is.
type Tool = (&'static [u8], &'static [u8], &'static [&'static [u8]], Part);

const TOOLS: [Tool; 22] = [
    (b"redis-cli", b"", &[b"-a"], Part::Whole),
    (b"valkey-cli", b"", &[b"-a"], Part::Whole),
    (b"zip", b"", &[b"-P"], Part::Whole),
    (b"unzip", b"", &[b"-P"], Part::Whole),
    (b"openssl", b"", &[b"-k", b"-K"], Part::Whole),
    (b"ldapsearch", b"", &[b"-w"], Part::Whole),
    (b"ldapadd", b"", &[b"-w"], Part::Whole),
    (b"ldapmodify", b"", &[b"-w"], Part::Whole),
    (b"ldapwhoami", b"", &[b"-w"], Part::Whole),
    (b"sqlcmd", b"", &[b"-P"], Part::Whole),
    (b"bcp", b"", &[b"-P"], Part::Whole),
    (b"mongosh", b"", &[b"-p"], Part::Whole),
    (b"mongodump", b"", &[b"-p"], Part::Whole),
    (b"mongorestore", b"", &[b"-p"], Part::Whole),
    (b"mosquitto_pub", b"", &[b"-P"], Part::Whole),
    (b"mosquitto_sub", b"", &[b"-P"], Part::Whole),
    (b"http", b"", &[b"-a", b"--auth"], Part::After(b':')),
    (b"https", b"", &[b"-a", b"--auth"], Part::After(b':')),
    (b"smbclient", b"", &[b"-U"], Part::After(b'%')),
    (b"gh", b"secret set", &[b"--body", b"-b"], Part::Whole),
    (b"keyvault", b"secret set", &[b"--value"], Part::Whole),
    (b"put-parameter", b"SecureString", &[b"--value"], Part::Whole),
];
/// What reads a password from a pipe.
const READERS: [&[u8]; 4] = [b"sudo -S", b"--password-stdin", b"chpasswd", b"passwd --stdin"];

/// The words of one line, with their places.
fn words(text: &[u8], mut at: usize, end: usize) -> impl Iterator<Item = (usize, usize, &[u8])> {
    std::iter::from_fn(move || {
        let start = stretch(text, at, end.saturating_sub(at), |byte| is_space(byte) || byte == b'\\');
        at = stretch(text, start, end.saturating_sub(start), |byte| !is_space(byte));
        let word = text.get(start..at)?;
        (!word.is_empty()).then_some((start, at, word))
    })
}

/// Whether one of these programs may begin with this word: a name goes on behind a hyphen.
pub(super) fn is_one(word: &[u8]) -> bool {
    matches!(
        word,
        b"redis"
            | b"valkey"
            | b"zip"
            | b"unzip"
            | b"openssl"
            | b"ldapsearch"
            | b"ldapadd"
            | b"ldapmodify"
            | b"ldapwhoami"
            | b"sqlcmd"
            | b"bcp"
            | b"mongosh"
            | b"mongodump"
            | b"mongorestore"
            | b"mosquitto_pub"
            | b"mosquitto_sub"
            | b"http"
            | b"https"
            | b"smbclient"
            | b"gh"
            | b"keyvault"
            | b"put"
            | b"echo"
            | b"printf"
    )
}

/// Looks at the program whose name begins at `at`, and returns where its command ends; `at` if it is none of these.
pub(super) fn find(text: &[u8], at: usize, spans: &mut Vec<Span>) -> usize {
    let rest = text.get(at..).unwrap_or(&[]);
    let named = |name: &[u8]| rest.starts_with(name) && rest.get(name.len()).is_some_and(|byte| b" \t".contains(byte));
    if named(b"echo") || named(b"printf") {
        return piped(text, at, spans);
    }
    let Some((name, says, options, part)) = TOOLS.iter().find(|tool| named(tool.0)) else { return at };
    let end = command_end(text, at + name.len());
    let said = text.get(at..end).unwrap_or(&[]);
    if says.is_empty() || said.windows(says.len()).any(|window| window == *says) {
        option_values(text, (at + name.len(), end), options, *part, spans);
    }
    end
}

/// The end of a command, which goes on behind a backslash.
fn command_end(text: &[u8], at: usize) -> usize {
    let mut escaped = false;
    stretch(text, at, LINE_MAX, |byte| {
        let ends = b"|;&".contains(&byte) || byte == b'\n' && !escaped;
        escaped = byte == b'\\' || byte == b'\r' && escaped;
        !ends
    })
}

fn option_values(text: &[u8], command: (usize, usize), options: &[&[u8]], part: Part, spans: &mut Vec<Span>) {
    let mut expected = false;
    for (start, stop, word) in words(text, command.0, command.1) {
        let option = options.iter().find(|option| word.starts_with(option));
        let joined = option.map_or(0, |option| option.len() + 1);
        if expected || joined > 0 && word.get(joined - 1) == Some(&b'=') {
            let from = if expected { start } else { start + joined };
            push(text, argument(text, from, stop), part, spans);
            expected = false;
        } else {
            expected = option.is_some_and(|option| option.len() == word.len());
        }
    }
}

/// The argument from `start` to `stop`, or to the end of its quotes.
fn argument(text: &[u8], start: usize, stop: usize) -> (usize, usize) {
    let open = stretch(text, start, 2, |byte| byte == b'\\');
    let near = text.get(..text.len().min(open + LINE_MAX)).unwrap_or(&[]);
    let inside = quoted(near, open).filter(|_| text.get(open).copied().is_some_and(is_quote));
    inside.unwrap_or((start, stop))
}

fn push(text: &[u8], (mut start, end): (usize, usize), part: Part, spans: &mut Vec<Span>) {
    let value = text.get(start..end).unwrap_or(&[]);
    if let Part::After(sign) = part {
        let Some(at) = value.iter().position(|byte| *byte == sign) else { return };
        start += at + 1;
    }
    let value = text.get(start..end).unwrap_or(&[]);
    let spoken = prose::is_word_of_language(prose::without_stops(value)) && prose::goes_on(text, end);
    if !value.is_empty() && !value.starts_with(b"-") && !prose::is_placeholder(value) && !spoken {
        spans.push(Span { start, end, rule: RULE });
    }
}

/// `echo VALUE | sudo -S`: the last argument before the pipe.
fn piped(text: &[u8], at: usize, spans: &mut Vec<Span>) -> usize {
    let end = command_end(text, at);
    let behind = text.get(end..).unwrap_or(&[]);
    let next = behind.get(..command_end(behind, 1)).unwrap_or(&[]);
    let read =
        next.starts_with(b"|") && READERS.iter().any(|reader| next.windows(reader.len()).any(|part| part == *reader));
    let mut from = None;
    if read {
        let mut stop = at;
        for (start, word_end, _) in words(text, at, end).skip(1) {
            if start >= stop {
                let inside = argument(text, start, word_end);
                stop = inside.1.max(word_end);
                from = Some(inside);
            }
        }
    }
    if let Some(value) = from {
        push(text, value, Part::Whole, spans);
    }
    end
}

/// `scott/tiger@db`, the argument of Oracle's programs and the end of its JDBC addresses, from `at` on.
pub(super) fn oracle(text: &[u8], at: usize, spans: &mut Vec<Span>) {
    let start = stretch(text, at, 16, |byte| matches!(byte, b' ' | b'\t' | b'"' | b'\''));
    let user = stretch(text, start, 64, |byte| byte.is_ascii_alphanumeric() || b"_$#".contains(&byte));
    let end = stretch(text, user + 1, 64, |byte| !is_space(byte) && !is_quote(byte) && byte != b'@');
    if user > start && text.get(user) == Some(&b'/') && text.get(end) == Some(&b'@') {
        push(text, (user + 1, end), Part::Whole, spans);
    }
}

/// Names of what a user and a password are given to: `auth=`, and classes for it.
pub(super) fn is_login(word: &[u8]) -> bool {
    let names = [&b"auth"[..], b"basicauth", b"httpbasicauth", b"httpdigestauth"];
    names.iter().any(|name| word.eq_ignore_ascii_case(name))
}

/// `auth=('me', 'VALUE')` and `HTTPBasicAuth("me", "VALUE")`, from the end of the name on.
pub(super) fn login_pair(text: &[u8], name: &[u8], end: usize, spans: &mut Vec<Span>) {
    let blank = |byte: u8| is_space(byte);
    let sign = stretch(text, stretch(text, end, 4, blank), 1, |byte| byte == b'=');
    let is_class = name.len() > b"auth".len();
    let open = stretch(text, sign, 4, blank);
    let is_pair = text.get(open) == Some(&b'(') && (is_class || text.get(sign.wrapping_sub(1)) == Some(&b'='));
    let user = stretch(text, open + 1, 32, blank);
    if !is_pair || !text.get(user).copied().is_some_and(is_quote) {
        return;
    }
    let near = text.get(..text.len().min(user + LINE_MAX)).unwrap_or(&[]);
    let Some((_, user_end)) = quoted(near, user) else { return };
    let comma = stretch(text, user_end + 1, 4, blank);
    let password = stretch(text, comma + 1, 32, blank);
    if text.get(comma) == Some(&b',') && text.get(password).copied().is_some_and(is_quote) {
        if let Some(inside) = quoted(near, password) {
            push(text, inside, Part::Whole, spans);
        }
    }
}
