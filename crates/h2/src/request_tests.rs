//! Tables of heads and the results.

use super::*;

/// Feeds lines of `name: value` as fields; `well_formed` is the decoder's verdict.
fn parse_with(lines: &str, config: &Config, head: &mut RequestHead) -> Result<Parsed, Fault> {
    let mut checked = Checked::default();
    let mut fields = RequestFields::new(head, config, &mut checked);
    for line in lines.lines() {
        let (name, value) = line.split_once(": ").expect("a line");
        let token = Token::of(name.as_bytes());
        let well_formed = token.is_pseudo() || is_token(name.as_bytes()) && name == name.to_lowercase();
        fields.field(Field {
            name: name.as_bytes(),
            value: value.as_bytes(),
            token,
            well_formed,
            never_indexed: false,
        });
    }
    fields.finish(false)
}

fn parse(lines: &str) -> Result<Parsed, Fault> {
    parse_with(lines, &Config::default(), &mut RequestHead::default())
}

const GET: &str = ":method: GET\n:scheme: https\n:path: /\n";

#[test]
fn a_head_has_its_parts_and_its_fields_in_order() {
    let mut head = RequestHead::default();
    let lines = ":method: GET\n:authority: a.example:8443\n:scheme: https\n:path: /x/y?q=1\n\
                 user-agent: u\nx-other: o\nrange: bytes=0-1\npriority: u=1, i\n";
    let parsed = parse_with(lines, &Config::default(), &mut head).expect("well-formed");
    assert_eq!(
        (head.method(), head.method_name(), head.version()),
        (Method::Get, &b"GET"[..], Version::Http2)
    );
    assert_eq!(
        (head.target(), head.path(), head.query()),
        (&b"/x/y?q=1"[..], &b"/x/y"[..], Some(&b"q=1"[..]))
    );
    assert_eq!((head.authority(), head.form()), (&b"a.example:8443"[..], TargetForm::Origin));
    assert_eq!(head.get(Known::Range), Some(&b"bytes=0-1"[..]));
    assert_eq!(head.fields().get_named(b"x-other"), Some(&b"o"[..]));
    assert_eq!(head.fields().len(), 4);
    assert_eq!(head.request_line(), b"GET /x/y?q=1 HTTP/2");
    assert_eq!(parsed.priority, Some(Priority { urgency: 1, incremental: true }));
    assert_eq!((parsed.content_length, parsed.refused), (None, None));
}

#[test]
fn heads_that_break_a_rule_are_told_apart() {
    let a = ":authority: a\n";
    let cases: &[(String, Result<(), Fault>)] = &[
        (format!("{GET}{a}"), Ok(())),
        (format!("{GET}host: a\n"), Ok(())),
        (format!("{GET}{a}host: A\n"), Ok(())),
        (format!("{GET}{a}host: b\n"), Err(Fault::HostDiffers)),
        (format!("{GET}{a}host: a\nhost: a\n"), Err(Fault::HostRepeated)),
        (format!("{GET}host: a b\n"), Err(Fault::Authority)),
        (GET.to_string(), Err(Fault::Authority)),
        (format!("{GET}:authority: u@a\n"), Err(Fault::Authority)),
        (format!("{GET}:authority: \n"), Err(Fault::Authority)),
        (format!("{GET}{a}{a}"), Err(Fault::PseudoRepeated)),
        (format!("{GET}{a}:path: /\n"), Err(Fault::PseudoRepeated)),
        (format!("{GET}{a}:status: 200\n"), Err(Fault::PseudoUnknown)),
        (format!("{GET}{a}:what: x\n"), Err(Fault::PseudoUnknown)),
        (format!("x: y\n{GET}{a}"), Err(Fault::PseudoLate)),
        (format!("{GET}{a}X-A: y\n"), Err(Fault::FieldMalformed)),
        (format!("{GET}{a}connection: close\n"), Err(Fault::FieldOfConnection)),
        (format!("{a}:scheme: https\n:path: /\n"), Err(Fault::PseudoMissing)),
        (format!("{a}:method: GET\n:path: /\n"), Err(Fault::PseudoMissing)),
        (format!("{a}:method: GET\n:scheme: https\n"), Err(Fault::PseudoMissing)),
        (format!("{a}:method: \n:scheme: https\n:path: /\n"), Err(Fault::Method)),
        (format!("{a}:method: G T\n:scheme: https\n:path: /\n"), Err(Fault::Method)),
        (format!("{a}:method: GET\n:scheme: 1x\n:path: /\n"), Err(Fault::Scheme)),
        (format!("{a}:method: GET\n:scheme: https\n:path: \n"), Err(Fault::Target)),
        (format!("{a}:method: GET\n:scheme: https\n:path: a\n"), Err(Fault::Target)),
        (format!("{a}:method: GET\n:scheme: https\n:path: *\n"), Err(Fault::Target)),
        (format!("{a}:method: OPTIONS\n:scheme: https\n:path: *\n"), Ok(())),
        (format!("{a}:method: GET\n:scheme: https\n:path: /a b\n"), Err(Fault::Target)),
        (format!("{a}:method: GET\n:scheme: https\n:path: /#a\n"), Err(Fault::Target)),
        (format!("{a}:method: GET\n:scheme: https\n:path: http://a/\n"), Err(Fault::Target)),
        (":method: CONNECT\n:authority: a:1\n".into(), Ok(())),
        (":method: CONNECT\n:authority: a\n".into(), Err(Fault::ConnectForm)),
        (":method: CONNECT\n:authority: a:1\n:path: /\n".into(), Err(Fault::ConnectForm)),
        (":method: CONNECT\nhost: a:1\n".into(), Err(Fault::ConnectForm)),
        (format!("{GET}{a}:protocol: websocket\n"), Err(Fault::ProtocolForm)),
        (format!("{GET}{a}content-length: 1\ncontent-length: 1\n"), Err(Fault::ContentLength)),
        (format!("{GET}{a}content-length: x\n"), Err(Fault::ContentLength)),
    ];
    for (lines, want) in cases {
        assert_eq!(parse(lines).map(drop), *want, "{lines}");
    }
}

#[test]
fn a_host_that_means_the_authority_is_the_same() {
    let same = |scheme: &str, authority: &str, host: &str| {
        let lines =
            format!(":method: GET\n:authority: {authority}\n:path: /\n:scheme: {scheme}\nhost: {host}\n");
        match parse(&lines) {
            Ok(_) => true,
            Err(Fault::HostDiffers) => false,
            Err(fault) => panic!("{lines}{fault:?}"),
        }
    };
    // RFC 9113 §8.3.1: "The values of fields need to be normalized to compare them".
    for (scheme, authority, host, want) in [
        ("https", "a.example", "A.EXAMPLE", true),
        ("https", "a.example:443", "a.example", true),
        ("https", "a.example", "a.example:443", true),
        ("https", "a.example.", "a.example", true),
        ("https", "a.example", "A.example.:443", true),
        ("https", "a.example:", "a.example", true),
        ("HTTPS", "a.example:0443", "a.example", true),
        ("http", "a.example:80", "a.example", true),
        ("http", "a.example:8080", "a.example:8080", true),
        ("https", "[::A]", "[::a]:443", true),
        ("https", "a.example:80", "a.example", false),
        ("http", "a.example:443", "a.example", false),
        ("https", "a.example:8080", "a.example", false),
        ("https", "a.example", "b.example", false),
        ("https", "a.example..", "a.example", false),
        ("https", "a.example", "a.example:", true),
        ("https", "a.example", "a.example:x", false),
        ("https", "a.example", "", false),
        ("https", "[::1]", "[::1].", false),
        ("gopher", "a.example:70", "a.example", false),
        ("gopher", "a.example.", "A.example", true),
    ] {
        assert_eq!(same(scheme, authority, host), want, "{scheme} {authority} {host}");
    }
    // CONNECT has no scheme, and so no default port.
    let connect =
        |host: &str| parse(&format!(":method: CONNECT\n:authority: a:443\nhost: {host}\n")).map(drop);
    assert_eq!((connect("A.:443"), connect("a")), (Ok(()), Err(Fault::HostDiffers)));
}

#[test]
fn extended_connect_needs_leave_and_all_parts() {
    let config = Config { enable_connect_protocol: true, ..Config::default() };
    let mut head = RequestHead::default();
    let whole = ":method: CONNECT\n:scheme: https\n:path: /chat\n:authority: a\n:protocol: websocket\n";
    assert!(parse_with(whole, &config, &mut head).is_ok());
    assert_eq!((head.path(), head.form()), (&b"/chat"[..], TargetForm::Origin));
    assert_eq!(head.fields().get_named(b":protocol"), Some(&b"websocket"[..]));
    assert_eq!(parse(whole).map(drop), Err(Fault::ProtocolForm));
    for line in [":scheme: https\n", ":path: /chat\n", ":authority: a\n"] {
        let lines = whole.replace(line, "");
        assert_eq!(parse_with(&lines, &config, &mut head).map(drop), Err(Fault::ProtocolForm), "{lines}");
    }
    let get = whole.replace("CONNECT", "GET");
    assert_eq!(parse_with(&get, &config, &mut head).map(drop), Err(Fault::ProtocolForm));
}

#[test]
fn crumbs_of_a_cookie_are_joined_wherever_they_stand() {
    for lines in
        ["cookie: a=1\ncookie: b=2\ncookie: c=3\nx: y\n", "cookie: a=1\nx: y\ncookie: b=2\ncookie: c=3\n"]
    {
        let mut head = RequestHead::default();
        let lines = format!("{GET}:authority: a\n{lines}");
        parse_with(&lines, &Config::default(), &mut head).expect("well-formed");
        assert_eq!(head.get(Known::Cookie), Some(&b"a=1; b=2; c=3"[..]));
        assert_eq!(head.fields().len(), 2);
    }
}

#[test]
fn heads_beyond_a_limit_are_refused_with_the_status_that_says_so() {
    let config = Config { max_fields: 2, max_target: 5, ..Config::default() };
    let mut head = RequestHead::default();
    let cases = [
        (format!("{GET}:authority: a\na: 1\nb: 2\n"), None),
        (format!("{GET}:authority: a\na: 1\nb: 2\nc: 3\n"), Some(Status::REQUEST_HEADER_FIELDS_TOO_LARGE)),
        (format!("{GET}:authority: a\n").replace(": /", ": /12345"), Some(Status::URI_TOO_LONG)),
    ];
    for (lines, want) in cases {
        let parsed = parse_with(&lines, &config, &mut head).expect("well-formed");
        assert_eq!((parsed.refused, head.method()), (want, Method::Get), "{lines}");
    }
}

#[test]
fn an_authority_that_was_checked_before_is_known_and_others_are_not() {
    let mut checked = Checked::default();
    let long = "a".repeat(60);
    for authority in ["a.example:80", "a.example:80", "a.example:8", "b", "a.example:80", &long, &long] {
        assert!(checked.is_authority(authority.as_bytes()), "{authority}");
    }
    for authority in ["", "u@a", "a.example:80 ", "a\0"] {
        assert!(!checked.is_authority(authority.as_bytes()), "{authority}");
    }
}
