use super::*;

fn valid(text: &[u8]) -> bool {
    walk(text, &mut ()).is_ok()
}

#[test]
fn objects_of_the_grammar_are_accepted() {
    let good: [&[u8]; 9] = [
        b"{}",
        b" {\"a\":1} \n",
        b"{\"a\":[],\"b\":{},\"c\":[1,2.5,-0,1e9,1E-2,-0.0e+1]}",
        b"{\"a\":true,\"b\":false,\"c\":null}",
        b"{\"\":\"\"}",
        b"{\"a\":\"\\\"\\\\\\/\\b\\f\\n\\r\\t\\u00e9\\ud83d\"}",
        "{\"ä\":\"😀\"}".as_bytes(),
        b"\xef\xbb\xbf{\"a\":1}",
        b"{\"a\":{\"a\":{\"a\":[[[[]]]]}},\"a\":1}",
    ];
    for text in good {
        assert!(valid(text), "{}", String::from_utf8_lossy(text));
    }
}

#[test]
fn anything_else_is_refused() {
    let bad: [&[u8]; 33] = [
        b"", b"  ", b"[]", b"1", b"\"x\"", b"null", b"{", b"}", b"{]", b"{\"a\"}", b"{\"a\":}", b"{\"a\":1,}", b"{,}",
        b"{\"a\":[1,]}", b"{\"a\":[1}", b"{a:1}", b"{'a':1}", b"{\"a\":01}", b"{\"a\":1.}", b"{\"a\":.5}",
        b"{\"a\":+1}", b"{\"a\":1e}", b"{\"a\":NaN}", b"{\"a\":tru}", b"{\"a\":\"\n\"}", b"{\"a\":\"\\x\"}",
        b"{\"a\":\"\\u12g4\"}", b"{\"a\":\"\\u12", b"{\"a\":\"", b"{} {}", b"{}\0", b"{\"a\":\"\xff\"}", b"{\"a\" 1}",
    ];
    for text in bad {
        assert!(!valid(text), "{}", String::from_utf8_lossy(text));
    }
}

#[test]
fn nesting_stops_at_the_limit_without_touching_the_stack() {
    let nested = |levels: usize| {
        let arrays = levels - 1;
        [&b"{\"a\":"[..], &b"[".repeat(arrays), &b"]".repeat(arrays), b"}"].concat()
    };
    assert!(valid(&nested(DEPTH_MAX)));
    assert!(!valid(&nested(DEPTH_MAX + 1)));
    assert!(!valid(&b"{\"a\":".repeat(1_000_000)));
}

#[test]
fn every_cut_of_an_object_fails_at_its_end() {
    let whole = "{\"a\":[1.5e+3,true,{\"b\":\"x\\u0041\\n\"}],\"ö\":null}".as_bytes();
    for end in 1..whole.len() {
        let Some(start) = whole.get(..end) else { continue };
        let Err(fault) = walk(start, &mut ()) else { unreachable!("a cut object at {end} is no object") };
        if std::str::from_utf8(start).is_ok() {
            assert_eq!(fault.at, end, "{:?}", fault);
        }
    }
}

#[test]
fn texts_survive_the_way_out_and_back() {
    let text = text::unescaped(b"a\\u0041\\ud83d\\ude00\\ud800x\\\"\\/\\n", usize::MAX);
    assert_eq!(String::from_utf8_lossy(&text), "aA😀\u{fffd}x\"/\n");
    let ends = text::unescaped(b"\\ud800\\udc00\\udbff\\udfff", usize::MAX);
    assert_eq!(String::from_utf8_lossy(&ends), "\u{10000}\u{10ffff}");
    let mut raw = Vec::new();
    text::quote(b"a\"\\\n\x01\xffz", &mut raw);
    assert_eq!(raw, "\"a\\\"\\\\\\n\\u0001\u{fffd}z\"".as_bytes());
    raw.clear();
    text::quote_path(b"/a\xff", &mut raw);
    assert_eq!(raw, b"\"/a\\udcff\"");
}

#[test]
fn a_cut_never_falls_inside_a_character() {
    assert_eq!(text::cut("aäb".as_bytes(), 2), b"a");
    assert_eq!(text::cut("aäb".as_bytes(), 3), "aä".as_bytes());
    assert_eq!(text::cut(b"ab", 9), b"ab");
}

#[test]
fn only_the_top_level_field_is_found() {
    let json = b"{\"x\":{\"session_id\":\"inner\"},\"session_id\":\"o\\u0075ter\",\"n\":1}";
    assert_eq!(top_text(json, b"session_id"), Some(b"outer".to_vec()));
    assert_eq!(top_text(json, b"n"), None);
    assert_eq!(top_text(b"not json", b"n"), None);
}

#[test]
fn a_big_object_is_reduced_to_its_scalars_even_when_it_is_cut() {
    let json = "{\"session_id\":\"s\",\"n\":1,\"tool_input\":{\"x\":[1]},\"ok\":true,\"long\":\"ä".to_owned()
        + &"y".repeat(9000);
    let whole = json.clone() + "\",\"last\":2}";
    let Ok(reduced_whole) = reduced(whole.as_bytes()) else { unreachable!("valid JSON") };
    assert!(valid(&reduced_whole) && reduced_whole.len() < 9000);
    let text = String::from_utf8_lossy(&reduced_whole).into_owned();
    assert!(text.starts_with("{\"session_id\":\"s\",\"n\":1,\"ok\":true,\"long\":\"ä"), "{text}");
    assert!(text.ends_with(",\"last\":2,\"truncated\":true}"), "{text}");
    let cut = reduced(json.as_bytes()).map(|json| String::from_utf8_lossy(&json).into_owned());
    assert_eq!(cut, Ok("{\"session_id\":\"s\",\"n\":1,\"ok\":true,\"truncated\":true}".to_owned()));
    assert!(reduced(b"{\"a\":oops,\"b\":1").is_err());
}
