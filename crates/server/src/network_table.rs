//! Many ranges of addresses, and which of them an address belongs to.

use hayami_net::Network;
use std::net::IpAddr;
use std::ops::BitAnd;

/// Ranges in an order that matters. The first to which an address belongs is found by one binary search for each
/// different length of prefix; lists of countries or clouds have some 20 lengths, and 10,000s of ranges.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct NetworkTable {
    v4: Vec<Prefixes<u32>>,
    v6: Vec<Prefixes<u128>>,
    len: usize,
}

/// The ranges of one length.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Prefixes<A> {
    mask: A,
    /// First addresses, sorted, each with the place of its first range in the list.
    ranges: Vec<(A, u32)>,
}

impl NetworkTable {
    /// How many ranges there are.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// The place of the first range in the list to which an address belongs.
    pub(crate) fn find(&self, ip: IpAddr) -> Option<usize> {
        let found = match ip.to_canonical() {
            IpAddr::V4(ip) => first(&self.v4, u32::from(ip)),
            IpAddr::V6(ip) => first(&self.v6, u128::from(ip)),
        };
        found.map(|place| place as usize)
    }

    /// Whether an address belongs to any range.
    pub(crate) fn contains(&self, ip: IpAddr) -> bool {
        self.find(ip).is_some()
    }

    fn sort(&mut self) {
        self.v4.iter_mut().for_each(Prefixes::sort);
        self.v6.iter_mut().for_each(Prefixes::sort);
    }
}

impl FromIterator<Network> for NetworkTable {
    fn from_iter<I: IntoIterator<Item = Network>>(networks: I) -> Self {
        let mut table = Self::default();
        for network in networks {
            // As many would fill 32 GiB.
            let place = u32::try_from(table.len).unwrap_or(u32::MAX);
            let bits = u32::from(network.bits());
            match network.first() {
                IpAddr::V4(ip) => {
                    let mask = u32::MAX.checked_shl(32 - bits).unwrap_or(0);
                    push(&mut table.v4, mask, u32::from(ip), place);
                }
                IpAddr::V6(ip) => {
                    let mask = u128::MAX.checked_shl(128 - bits).unwrap_or(0);
                    push(&mut table.v6, mask, u128::from(ip), place);
                }
            }
            table.len += 1;
        }
        table.sort();
        table
    }
}

impl<A: Copy + Ord> Prefixes<A> {
    fn sort(&mut self) {
        self.ranges.sort_unstable();
        // Of equal ones, the first in the list.
        self.ranges.dedup_by_key(|(first, _)| *first);
        self.ranges.shrink_to_fit();
    }
}

fn push<A: Copy + Eq>(lengths: &mut Vec<Prefixes<A>>, mask: A, first: A, place: u32) {
    let known = lengths.iter().position(|own| own.mask == mask);
    let at = known.unwrap_or_else(|| {
        lengths.push(Prefixes { mask, ranges: Vec::new() });
        lengths.len() - 1
    });
    lengths[at].ranges.push((first, place));
}

fn first<A: Copy + Ord + BitAnd<Output = A>>(lengths: &[Prefixes<A>], ip: A) -> Option<u32> {
    let found = lengths.iter().filter_map(|Prefixes { mask, ranges }| {
        let at = ranges.binary_search_by_key(&(ip & *mask), |(first, _)| *first).ok()?;
        Some(ranges[at].1)
    });
    found.min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn table(networks: &[&str]) -> NetworkTable {
        networks.iter().map(|text| text.parse::<Network>().expect(text)).collect()
    }

    #[test]
    fn the_first_range_in_the_list_is_found_whatever_its_length() {
        let table = table(&[
            "10.1.0.0/16",
            "10.0.0.0/8",
            "10.1.2.3",
            "192.0.2.0/24",
            "192.0.2.7",
            "2001:db8::/32",
            "2001:db8::1",
            "::ffff:198.51.100.0/120",
        ]);
        for (ip, want) in [
            ("10.1.2.3", Some(0)),
            ("10.2.0.0", Some(1)),
            ("192.0.2.7", Some(3)),
            ("::ffff:192.0.2.7", Some(3)),
            ("2001:db8::1", Some(5)),
            ("2001:db9::1", None),
            ("198.51.100.9", Some(7)),
            ("11.0.0.0", None),
        ] {
            assert_eq!(table.find(ip.parse().expect(ip)), want, "{ip}");
        }
        assert_eq!((table.len(), NetworkTable::default().len()), (8, 0));
    }

    #[test]
    fn ranges_without_prefix_have_all_addresses_of_their_version() {
        let table = table(&["0.0.0.0/0", "::/0"]);
        assert_eq!(table.find("203.0.113.1".parse().expect("an address")), Some(0));
        assert_eq!(table.find("::1".parse().expect("an address")), Some(1));
    }

    proptest! {
        /// The same as asking one after the other.
        #[test]
        fn the_table_agrees_with_a_search_from_the_beginning(
            networks in proptest::collection::vec((0_u32..64, 24_u8..=32), 0..40),
            ip in 0_u32..64,
        ) {
            let networks: Vec<_> = networks
                .into_iter()
                .filter_map(|(ip, bits)| Network::new(IpAddr::from((0x0a00_0000 | ip << 2).to_be_bytes()), Some(bits)))
                .collect();
            let ip = IpAddr::from((0x0a00_0000 | ip << 2).to_be_bytes());
            let want = networks.iter().position(|network| network.contains(ip));
            let table: NetworkTable = networks.into_iter().collect();
            prop_assert_eq!(table.find(ip), want);
        }
    }
}
