//! Content codings and what a client accepts of them (RFC 9110 §8.4.1 and §12.5.3).
//!
//! Not here: which file or filter provides a coding, and the Vary field that the choice requires.

/// A content coding that hayami can send.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Coding {
    /// The bytes as they are.
    Identity,
    /// RFC 1952.
    Gzip,
    /// RFC 7932.
    Brotli,
    /// RFC 8878.
    Zstd,
}

impl Coding {
    /// Its name in Content-Encoding. Identity has one too, but is not to be sent (RFC 9110 §8.4.1).
    pub fn name(self) -> &'static [u8] {
        match self {
            Self::Identity => b"identity",
            Self::Gzip => b"gzip",
            Self::Brotli => b"br",
            Self::Zstd => b"zstd",
        }
    }

    /// The coding of that name, whatever its case (RFC 9110 §8.4.1).
    fn of(name: &[u8]) -> Option<Self> {
        const NAMES: [(&[u8], Coding); 5] = [
            (b"gzip", Coding::Gzip),
            (b"br", Coding::Brotli),
            (b"zstd", Coding::Zstd),
            (b"identity", Coding::Identity),
            (b"x-gzip", Coding::Gzip), // RFC 9110 §8.4.1.3
        ];
        NAMES.iter().find(|(known, _)| name.eq_ignore_ascii_case(known)).map(|(_, coding)| *coding)
    }
}

/// How much a client wants something, in thousandths; 0: not at all (RFC 9110 §12.4.2).
type Weight = u16;

/// The preferences of an Accept-Encoding field for the codings that hayami can send.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Accepted {
    /// By [`Coding`]: its weight, `None` if it is not listed.
    listed: [Option<Weight>; 4],
    /// The weight of `*`, which stands for all that are not listed.
    others: Option<Weight>,
}

/// Reads the lines of an Accept-Encoding field, which are one list (RFC 9110 §5.3). Malformed members
/// and unknown codings do not count. Without lines, and with an empty one, only identity is accepted: a
/// client that says nothing would have to accept anything (§12.5.3), but cannot be relied on to do so.
pub fn accepted<'v>(lines: impl IntoIterator<Item = &'v [u8]>) -> Accepted {
    let mut accepted = Accepted::default();
    for line in lines {
        line.split(|byte| *byte == b',').for_each(|member| accepted.read(member));
    }
    accepted
}

impl Accepted {
    /// Records one member of the list: `gzip`, `br;q=0.8`, `*;q=0`. Of two members for the same coding the
    /// higher weight counts.
    fn read(&mut self, member: &[u8]) {
        let (name, weight) = match memchr::memchr(b';', member) {
            Some(at) => (&member[..at], weight(&member[at + 1..])),
            None => (member, Some(1000)), // RFC 9110 §12.4.2
        };
        let name = name.trim_ascii();
        let slot = match Coding::of(name) {
            Some(coding) => &mut self.listed[coding as usize],
            None if name == b"*" => &mut self.others,
            None => return,
        };
        *slot = (*slot).max(weight);
    }

    /// How much this coding is wanted, in thousandths; `None`: not acceptable.
    fn weight(&self, coding: Coding) -> Option<Weight> {
        let stated = self.listed[coding as usize].or(self.others);
        match (coding, stated) {
            (_, Some(0)) => None,
            (_, Some(weight)) => Some(weight),
            // Acceptable unless excluded (RFC 9110 §12.5.3), but wanted least of all.
            (Coding::Identity, None) => Some(0),
            (_, None) => None,
        }
    }

    /// Whether a response in this coding may be sent.
    pub fn accepts(&self, coding: Coding) -> bool {
        self.weight(coding).is_some()
    }

    /// The coding to send: of those available, and of identity, which always is, the one with the highest
    /// weight; of those with equal weight the one that usually makes the smallest content, in the order `br`,
    /// `zstd`, `gzip`, identity.
    ///
    /// If none is acceptable it is identity nevertheless: unencoded content serves a client better than a 406
    /// (RFC 9110 §12.5.3 leaves it open).
    pub fn prefers(&self, available: &[Coding]) -> Coding {
        let mut best = (Coding::Identity, self.weight(Coding::Identity));
        for coding in [Coding::Gzip, Coding::Zstd, Coding::Brotli] {
            let weight = self.weight(coding);
            if weight.is_some() && weight >= best.1 && available.contains(&coding) {
                best = (coding, weight);
            }
        }
        best.0
    }

    /// The coding to send if those of `preference` can be produced: the one with the highest weight; of those
    /// with equal weight the first, and identity last.
    ///
    /// If none is acceptable it is identity nevertheless, as in [`prefers`](Self::prefers).
    pub fn first_of(&self, preference: impl IntoIterator<Item = Coding>) -> Coding {
        let mut best = (Coding::Identity, self.weight(Coding::Identity));
        for coding in preference {
            let weight = self.weight(coding);
            let wins = weight > best.1 || best.0 == Coding::Identity && weight == best.1;
            if weight.is_some() && wins {
                best = (coding, weight);
            }
        }
        best.0
    }
}

/// The weight in what follows a `;`. Its `q` has no case (RFC 9110 §12.4.2).
fn weight(parameter: &[u8]) -> Option<Weight> {
    match parameter.trim_ascii() {
        [b'q' | b'Q', b'=', value @ ..] => qvalue(value),
        _ => None,
    }
}

/// `0.5` as 500: up to three digits after the point, and none but zeros after `1.`.
fn qvalue(value: &[u8]) -> Option<Weight> {
    let (whole, digits) = match value {
        [whole @ (b'0' | b'1')] => (*whole, &[][..]),
        [whole @ (b'0' | b'1'), b'.', digits @ ..] if digits.len() <= 3 => (*whole, digits),
        _ => return None,
    };
    let mut weight = Weight::from(whole - b'0');
    for place in 0..3 {
        let digit = *digits.get(place).unwrap_or(&b'0');
        weight = weight * 10 + Weight::from(digit.is_ascii_digit().then(|| digit - b'0')?);
    }
    (weight <= 1000).then_some(weight)
}

#[cfg(test)]
mod tests {
    use super::Coding::{Brotli, Gzip, Identity, Zstd};
    use super::*;
    use proptest::prelude::*;

    const ALL: [Coding; 4] = [Gzip, Identity, Zstd, Brotli];

    fn of(value: &str) -> Accepted {
        accepted([value.as_bytes()])
    }

    #[test]
    fn the_coding_wanted_most_is_sent() {
        let cases: &[(&str, Coding)] = &[
            ("", Identity),
            ("gzip", Gzip),
            ("GZip", Gzip),
            ("x-gzip", Gzip),
            ("br", Brotli),
            ("zstd", Zstd),
            ("identity", Identity),
            ("compress, deflate", Identity),
            // The server's preference where the client has none.
            ("gzip, deflate, br, zstd", Brotli),
            ("gzip, zstd", Zstd),
            ("identity, gzip", Gzip),
            ("*", Brotli),
            // The client's preference.
            ("gzip;q=1.0, br;q=0.9", Gzip),
            ("br;q=0.5,zstd;q=0.501", Zstd),
            ("gzip;q=0.5", Gzip),
            ("gzip;q=0.001", Gzip),
            ("identity, gzip;q=0.5", Identity),
            ("gzip;q=0.5, *;q=0.1", Gzip),
            ("*;q=0.5, br;q=0.1, zstd;q=0", Gzip),
            // Excluded.
            ("gzip;q=0", Identity),
            ("gzip;q=0.000", Identity),
            ("br;q=0, *", Zstd),
            ("gzip, *;q=0", Gzip),
            ("identity;q=0", Identity),
            ("identity;q=0, gzip;q=0.1", Gzip),
            ("*;q=0", Identity),
            // The higher of two weights.
            ("gzip;q=0.2, x-gzip;q=0.8, br;q=0.5", Gzip),
            ("gzip, gzip;q=0, br;q=0.5", Gzip),
            // Whitespace and empty members (RFC 9110 §5.6.1.2).
            (" , gzip\t;\tQ=0.5 ,, br ; q=0.4,", Gzip),
        ];
        for (value, want) in cases {
            assert_eq!(of(value).prefers(&ALL), *want, "{value:?}");
        }
    }

    #[test]
    fn malformed_members_do_not_count() {
        let members = [
            "br;q=2",
            "br;q=1.001",
            "br;q=0.1234",
            "br;q=.5",
            "br;q=",
            "br;q",
            "br;",
            "br;q=-1",
            "br;q=+1",
            "br;q=0.x",
            "br;q = 1",
            "br;level=9",
            "br;q=1;x=y",
            "br q=1",
            "b r",
            "br\0",
            "\"br\"",
            "brr",
            "**",
        ];
        for member in members {
            let value = format!("{member}, gzip;q=0.1");
            assert_eq!(of(&value), of("gzip;q=0.1"), "{value:?}");
        }
    }

    #[test]
    fn only_what_is_available_is_sent() {
        let cases: &[(&str, &[Coding], Coding)] = &[
            ("gzip, br", &[], Identity),
            ("gzip, br", &[Gzip], Gzip),
            ("gzip, br", &[Zstd], Identity),
            ("br, gzip;q=0.5", &[Gzip, Zstd], Gzip),
            ("identity;q=0, br", &[Gzip], Identity),
        ];
        for (value, available, want) in cases {
            assert_eq!(of(value).prefers(available), *want, "{value:?} {available:?}");
        }
    }

    #[test]
    fn of_codings_wanted_equally_the_first_of_the_servers_list_is_sent() {
        let cases: &[(&str, &[Coding], Coding)] = &[
            ("gzip, br, zstd", &[Gzip, Brotli, Zstd], Gzip),
            ("gzip, br, zstd", &[Zstd, Gzip, Brotli], Zstd),
            ("gzip;q=0.5, br;q=0.5, zstd;q=0.4", &[Zstd, Brotli, Gzip], Brotli),
            ("br, gzip;q=0.9", &[Gzip, Brotli], Brotli),
            ("*", &[Zstd, Gzip], Zstd),
            ("*;q=0.1, gzip;q=0", &[Gzip, Zstd], Zstd),
            ("gzip", &[Brotli, Zstd], Identity),
            ("gzip", &[], Identity),
            ("", &[Gzip], Identity),
            ("identity", &[Gzip], Identity),
            ("identity, gzip", &[Gzip], Gzip),
            ("identity, gzip;q=0.9", &[Gzip], Identity),
            ("identity;q=0", &[Gzip], Identity),
            ("identity;q=0, *;q=0.1", &[Zstd, Gzip], Zstd),
            ("*;q=0", &[Gzip], Identity),
        ];
        for (value, preference, want) in cases {
            assert_eq!(of(value).first_of(preference.iter().copied()), *want, "{value:?} {preference:?}");
        }
    }

    #[test]
    fn several_lines_are_one_list_and_none_means_identity() {
        let lines: [&[u8]; 3] = [b"gzip;q=0.5", b"", b"deflate, br"];
        assert_eq!(accepted(lines), of("gzip;q=0.5, br"));
        assert_eq!(accepted([]).prefers(&ALL), Identity);
        assert!(!accepted([]).accepts(Gzip));
        assert!(accepted([]).accepts(Identity));
        assert!(!of("*;q=0").accepts(Identity));
        assert!(of("*;q=0, identity;q=0.1").accepts(Identity));
    }

    #[test]
    fn names_are_read_as_they_are_written() {
        for coding in ALL {
            assert_eq!(Coding::of(coding.name()), Some(coding));
        }
    }

    proptest! {
        #[test]
        fn any_bytes_give_a_coding_that_is_available_and_accepted(value: Vec<u8>, some in 0..4_usize) {
            let got = accepted([&value[..]]);
            let coding = got.prefers(&ALL[..some]);
            prop_assert!(coding == Identity || ALL[..some].contains(&coding) && got.accepts(coding));
        }

        #[test]
        fn both_ways_to_choose_agree_where_the_order_is_the_usual_one(value in "((gzip|br|zstd|identity|\\*)(;q=(0|1|0\\.[0-9]))?,){0,5}") {
            let got = of(&value);
            prop_assert_eq!(got.first_of([Brotli, Zstd, Gzip]), got.prefers(&ALL), "{}", value);
        }

        #[test]
        fn every_weight_is_read_as_it_is_written(weight in 0..=1000_u16) {
            let text = format!("{}.{:03}", weight / 1000, weight % 1000);
            prop_assert_eq!(qvalue(text.as_bytes()), Some(weight));
            let short = text.trim_end_matches('0');
            prop_assert_eq!(qvalue(short.as_bytes()), Some(weight));
        }

        #[test]
        fn no_coding_with_a_higher_weight_is_passed_over(gzip in 0..=9_u16, br in 0..=9_u16, zstd in 0..=9_u16) {
            let got = of(&format!("gzip;q=0.{gzip}, br;q=0.{br}, zstd;q=0.{zstd}"));
            let best = gzip.max(br).max(zstd);
            let want = if best == 0 { Identity } else if br == best { Brotli } else if zstd == best { Zstd } else { Gzip };
            prop_assert_eq!(got.prefers(&ALL), want);
        }
    }
}
