//! Headers and what they announce: fed whole, byte by byte, and written by this module.

use super::*;
use proptest::prelude::*;

fn ip(text: &str) -> Address {
    Address::Ip(text.parse().expect("an address with its port"))
}

fn ends(peer: &str, local: &str) -> Option<Ends> {
    Some(Ends { peer: ip(peer), local: ip(local) })
}

/// A version 2 header with this command, family and body.
fn v2(command: u8, family: u8, body: &[u8]) -> Vec<u8> {
    let len = (body.len() as u16).to_be_bytes();
    [SIGNATURE, &[command, family], &len, body].concat()
}

const V4: &[u8] = &[192, 0, 2, 1, 198, 51, 100, 7, 0xdc, 4, 1, 0xbb];

/// Valid headers and the ends they announce.
fn headers() -> Vec<(Vec<u8>, Option<Ends>)> {
    let v6: Vec<u8> =
        [Ipv6Addr::LOCALHOST, Ipv6Addr::UNSPECIFIED].iter().flat_map(Ipv6Addr::octets).collect();
    let tlv = [4, 0, 3, 1, 2, 3];
    let longest = "PROXY UNKNOWN ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff 65535 65535\r\n";
    assert_eq!(longest.len(), LONGEST_LINE);
    let text = |text: &str| text.as_bytes().to_vec();
    let both = ends("192.0.2.1:56324", "198.51.100.7:443");
    vec![
        (text("PROXY TCP4 192.0.2.1 198.51.100.7 56324 443\r\n"), both.clone()),
        (
            text("PROXY TCP6 2001:db8::1 ::ffff:192.0.2.1 1 0\r\n"),
            ends("[2001:db8::1]:1", "[::ffff:192.0.2.1]:0"),
        ),
        (text("PROXY UNKNOWN\r\n"), None),
        (text(longest), None),
        (v2(0x21, 0x11, V4), both.clone()),
        (v2(0x21, 0x11, &[V4, &tlv].concat()), both),
        (v2(0x21, 0x21, &[&v6[..], &[0, 80, 1, 187]].concat()), ends("[::1]:80", "[::]:443")),
        (v2(0x21, 0x31, &[0; 216]), Some(Ends { peer: Address::Unix, local: Address::Unix })),
        (v2(0x20, 0x11, V4), None),
        (v2(0x20, 0x00, b""), None),
        (v2(0x21, 0x00, b"xyz"), None),
        (v2(0x21, 0x12, V4), None),
        (
            v2(0x21, 0x11, &[V4, &[0; LONGEST - FIXED - 12]].concat()),
            ends("192.0.2.1:56324", "198.51.100.7:443"),
        ),
    ]
}

#[test]
fn a_header_is_partial_until_its_last_byte_and_takes_nothing_behind_it() {
    for (wire, want) in headers() {
        for end in 0..wire.len() {
            assert_eq!(parse(&wire[..end]), Ok(Parsed::Partial), "{} of {}", end, wire.escape_ascii());
        }
        let whole = Ok(Parsed::Whole { bytes: wire.len(), ends: want });
        assert_eq!(parse(&wire), whole, "{}", wire.escape_ascii());
        assert_eq!(parse(&[&wire[..], b"\x16\x03\x01GET"].concat()), whole, "{}", wire.escape_ascii());
    }
}

#[test]
fn what_is_no_header_is_refused_for_its_reason() {
    let line = |text: &str| text.as_bytes().to_vec();
    let cases = [
        (line("GET / HTTP/1.1\r\n"), Fault::Absent),
        (line("\x16\x03\x01"), Fault::Absent),
        (line("PROXYTCP4"), Fault::Absent),
        (line("proxy TCP4 "), Fault::Absent),
        (line("\r\n\r\n\0\r\nQUIT\r"), Fault::Absent),
        (line("PROXY TCP4 192.0.2.1 198.51.100.7 56324 443\n"), Fault::Line),
        (line("PROXY TCP4 192.0.2.1  198.51.100.7 56324 443\r\n"), Fault::Line),
        (line("PROXY TCP4 192.0.2.1 198.51.100.7 56324 443 \r\n"), Fault::Line),
        (line("PROXY TCP4 192.0.2.1 198.51.100.7 56324\r\n"), Fault::Line),
        (line("PROXY TCP4 192.0.2.1 198.51.100.7 65536 443\r\n"), Fault::Line),
        (line("PROXY TCP4 192.0.2.1 198.51.100.7 +1 443\r\n"), Fault::Line),
        (line("PROXY TCP4 192.0.2.1 198.51.100.7 01 443\r\n"), Fault::Line),
        (line("PROXY TCP4 192.0.2.256 198.51.100.7 1 443\r\n"), Fault::Line),
        (line("PROXY TCP4 ::1 ::1 1 443\r\n"), Fault::Line),
        (line("PROXY TCP6 192.0.2.1 198.51.100.7 1 443\r\n"), Fault::Line),
        (line("PROXY UDP4 192.0.2.1 198.51.100.7 1 443\r\n"), Fault::Line),
        (line("PROXY \r\n"), Fault::Line),
        (line("PROXY TCP4 192.0.2.1\r 198.51.100.7 1 443\r\n"), Fault::Line),
        (b"PROXY UNKNOWN \xff\r\n".to_vec(), Fault::Line),
        (format!("PROXY UNKNOWN {}\r\n", "x".repeat(92)).into_bytes(), Fault::Long),
        (v2(0x11, 0x11, V4), Fault::Version),
        (v2(0x31, 0x11, V4), Fault::Version),
        (v2(0x22, 0x11, V4), Fault::Command),
        (v2(0x21, 0x11, &V4[..11]), Fault::Short),
        (v2(0x21, 0x21, &[0; 35]), Fault::Short),
        (v2(0x21, 0x31, &[0; 215]), Fault::Short),
        (v2(0x20, 0x00, &[0; LONGEST - FIXED + 1]), Fault::Long),
    ];
    for (wire, want) in cases {
        assert_eq!(parse(&wire), Err(want), "{}", wire[..wire.len().min(120)].escape_ascii());
        let by_byte = (0..=wire.len()).find_map(|end| parse(&wire[..end]).err());
        assert_eq!(by_byte, Some(want), "{} by byte", wire[..wire.len().min(120)].escape_ascii());
    }
}

#[test]
fn ends_are_written_as_they_are_read() {
    let cases = [
        (ip("192.0.2.1:56324"), ip("198.51.100.7:443"), "PROXY TCP4 192.0.2.1 198.51.100.7 56324 443\r\n"),
        (ip("[2001:db8::1]:1"), ip("[::1]:2"), "PROXY TCP6 2001:db8::1 ::1 1 2\r\n"),
        (ip("[::ffff:192.0.2.1]:1"), ip("192.0.2.2:2"), "PROXY TCP4 192.0.2.1 192.0.2.2 1 2\r\n"),
        (ip("192.0.2.1:1"), ip("[2001:db8::1]:2"), "PROXY TCP6 ::ffff:192.0.2.1 2001:db8::1 1 2\r\n"),
        (Address::Unix, ip("192.0.2.1:1"), "PROXY UNKNOWN\r\n"),
        (Address::Unix, Address::Unix, "PROXY UNKNOWN\r\n"),
    ];
    for (peer, local, want) in cases {
        let mut line = Vec::new();
        write(Version::V1, &peer, &local, &mut line);
        assert_eq!(String::from_utf8_lossy(&line), want);
        let mut binary = Vec::new();
        write(Version::V2, &peer, &local, &mut binary);
        let read = |bytes: &[u8]| match parse(bytes) {
            Ok(Parsed::Whole { bytes: len, ends }) if len == bytes.len() => ends,
            other => panic!("{other:?} of {}", bytes.escape_ascii()),
        };
        assert_eq!(read(&binary), read(&line), "{want}");
    }
}

proptest! {
    /// For any input, no more is consumed than there is, and a decision never changes.
    #[test]
    fn more_bytes_never_change_a_decision(
        start in prop_oneof![Just(WORD.to_vec()), Just(SIGNATURE.to_vec()), Just([SIGNATURE, &[0x21, 0x11]].concat())],
        rest in proptest::collection::vec(any::<u8>(), 0..300),
    ) {
        let wire = [start, rest].concat();
        let mut decided = None;
        for end in 0..=wire.len() {
            let parsed = parse(&wire[..end]);
            if let Ok(Parsed::Whole { bytes, .. }) = &parsed {
                prop_assert!(*bytes <= end);
            }
            match &decided {
                Some(before) => prop_assert_eq!(before, &parsed),
                None if parsed != Ok(Parsed::Partial) => decided = Some(parsed),
                None => {}
            }
        }
    }

    #[test]
    fn every_pair_of_addresses_survives(peer: ([u8; 16], u16, bool), local: ([u8; 16], u16, bool), binary: bool) {
        let address = |(bytes, port, v6): ([u8; 16], u16, bool)| match v6 {
            true => SocketAddr::new(Ipv6Addr::from(bytes).into(), port),
            false => SocketAddr::new(Ipv4Addr::new(bytes[0], bytes[1], bytes[2], bytes[3]).into(), port),
        };
        let (peer, local) = (address(peer), address(local));
        let version = if binary { Version::V2 } else { Version::V1 };
        let mut wire = Vec::new();
        write(version, &Address::Ip(peer), &Address::Ip(local), &mut wire);
        let Ok(Parsed::Whole { bytes, ends: Some(ends) }) = parse(&wire) else { panic!("{}", wire.escape_ascii()) };
        prop_assert_eq!(bytes, wire.len());
        let same = |own: Address, was: SocketAddr| match own {
            Address::Ip(own) => own.ip().to_canonical() == was.ip().to_canonical() && own.port() == was.port(),
            Address::Unix => false,
        };
        prop_assert!(same(ends.peer, peer) && same(ends.local, local));
    }
}
