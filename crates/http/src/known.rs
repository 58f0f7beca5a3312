//! Field names that hayami itself reads or writes, found in about ten instructions, in any case.

macro_rules! known {
    ($($variant:ident $name:literal,)*) => {
        /// A field name that hayami itself reads or writes.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u8)]
        #[allow(missing_docs)] // the variants are field names of the IANA registry
        pub enum Known { $($variant,)* }

        impl Known {
            /// How many there are.
            pub const COUNT: usize = [$(Known::$variant,)*].len();

            /// The name in lower case.
            pub const fn name(self) -> &'static [u8] {
                match self { $(Self::$variant => $name,)* }
            }

            /// Every known name.
            pub const ALL: [Self; Self::COUNT] = [$(Self::$variant,)*];
        }
    };
}

known! {
    Host b"host",
    Connection b"connection",
    AcceptEncoding b"accept-encoding",
    UserAgent b"user-agent",
    ContentLength b"content-length",
    ContentType b"content-type",
    TransferEncoding b"transfer-encoding",
    Expect b"expect",
    Upgrade b"upgrade",
    Te b"te",
    Trailer b"trailer",
    IfMatch b"if-match",
    IfNoneMatch b"if-none-match",
    IfModifiedSince b"if-modified-since",
    IfUnmodifiedSince b"if-unmodified-since",
    IfRange b"if-range",
    Range b"range",
    ETag b"etag",
    LastModified b"last-modified",
    Referer b"referer",
    Cookie b"cookie",
    Authorization b"authorization",
    Server b"server",
    Date b"date",
    ContentEncoding b"content-encoding",
    Vary b"vary",
    KeepAlive b"keep-alive",
    ProxyConnection b"proxy-connection",
    CacheControl b"cache-control",
    Location b"location",
    Priority b"priority",
    XCompressHint b"x-compress-hint",
}

/// A factor for [`slot_of`] with which no two known names share a slot; found when this is compiled.
const FACTOR: u32 = {
    let mut factor = 1;
    while !separates(factor) {
        factor += 2;
    }
    factor
};

const fn separates(factor: u32) -> bool {
    let mut taken = [false; 256];
    let mut i = 0;
    while i < Known::COUNT {
        let slot = slot_of(Known::ALL[i].name(), factor);
        if taken[slot] {
            return false;
        }
        taken[slot] = true;
        i += 1;
    }
    true
}

/// By [`slot_of`]: 1 + index of the known name that may stand there.
static SLOTS: [u8; 256] = {
    let mut slots = [0; 256];
    let mut i = 0;
    while i < Known::COUNT {
        slots[slot_of(Known::ALL[i].name(), FACTOR)] = i as u8 + 1;
        i += 1;
    }
    slots
};

/// A number below 256, made of the length of a field name and three of its bytes, bit 0x20 of which is left
/// out: with a `factor` found by trial, it distinguishes the names of a small table.
pub const fn slot_of(name: &[u8], factor: u32) -> usize {
    let len = name.len();
    if len == 0 {
        return 0;
    }
    let bytes = [name[0] | 0x20, name[len / 2] | 0x20, name[len - 1] | 0x20, len as u8];
    (u32::from_le_bytes(bytes).wrapping_mul(factor) >> 24) as usize
}

/// Whether `name` is `lower`, a name of lower-case letters and `-`, in any case. Both are compared in
/// pieces that may overlap.
fn equals_folded(name: &[u8], lower: &[u8]) -> bool {
    if name.len() != lower.len() {
        return false;
    }
    if let (Some(tail), Some(lower_tail)) = (name.last_chunk::<8>(), lower.last_chunk::<8>()) {
        let pairs = name.as_chunks::<8>().0.iter().zip(lower.as_chunks::<8>().0);
        return pairs.fold(differ(tail, lower_tail), |sum, (n, l)| sum | differ(n, l)) == 0;
    }
    match (name.first_chunk(), name.last_chunk(), lower.first_chunk(), lower.last_chunk()) {
        (Some(n), Some(n_tail), Some(l), Some(l_tail)) => differ(&joined(n, n_tail), &joined(l, l_tail)) == 0,
        _ => name.eq_ignore_ascii_case(lower),
    }
}

fn joined(head: &[u8; 4], tail: &[u8; 4]) -> [u8; 8] {
    let (head, tail) = (u32::from_ne_bytes(*head), u32::from_ne_bytes(*tail));
    (u64::from(head) << 32 | u64::from(tail)).to_ne_bytes()
}

/// Bits in which eight bytes differ, bit 0x20 of letters left out.
fn differ(name: &[u8; 8], lower: &[u8; 8]) -> u64 {
    let (name, lower) = (u64::from_ne_bytes(*name), u64::from_ne_bytes(*lower));
    let letters = (lower & 0x4040_4040_4040_4040) >> 1;
    (name ^ lower) & !letters
}

impl Known {
    /// The known name equal to `name`, whatever its case (RFC 9110 §5.1).
    pub fn of(name: &[u8]) -> Option<Self> {
        let known = *Self::ALL.get((SLOTS[slot_of(name, FACTOR)] as usize).wrapping_sub(1))?;
        equals_folded(name, known.name()).then_some(known)
    }

    /// Whether the field concerns one HTTP/1.1 connection and is not forwarded (RFC 9110 §7.6.1); HTTP/2 has
    /// none of these (RFC 9113 §8.2.2). TE, which HTTP/2 knows in part, is not among them.
    #[inline]
    pub fn is_of_connection(self) -> bool {
        matches!(
            self,
            Self::Connection
                | Self::KeepAlive
                | Self::ProxyConnection
                | Self::TransferEncoding
                | Self::Upgrade
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_one_byte_changed_is_not_known() {
        for known in Known::ALL {
            assert_eq!(Known::of(&known.name().to_ascii_uppercase()), Some(known));
            for at in 0..known.name().len() {
                let mut name = known.name().to_vec();
                for byte in (0..=255).filter(|o: &u8| !o.eq_ignore_ascii_case(&known.name()[at])) {
                    name[at] = byte;
                    assert!(Known::of(&name).is_none_or(|other| other != known), "{name:?}");
                }
            }
        }
        assert_eq!(Known::of(b""), None);
    }
}
