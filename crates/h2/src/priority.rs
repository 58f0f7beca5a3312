//! The priority of a response (RFC 9218 §4), as given by a Priority field.

/// Urgency and whether the content is useful in pieces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Priority {
    /// 0 is the most urgent, 7 the least (RFC 9218 §4.1).
    pub(crate) urgency: u8,
    /// Shares bandwidth with other streams of its urgency instead of being sent one after another (RFC 9218
    /// §4.2).
    pub(crate) incremental: bool,
}

impl Default for Priority {
    fn default() -> Self {
        Self { urgency: 3, incremental: false }
    }
}

impl Priority {
    /// Parses a field value. Anything unknown is ignored, as RFC 9218 §4 requires: values of other types,
    /// unknown parameters, and a value that is not a dictionary.
    pub(crate) fn parse(value: &[u8]) -> Self {
        let mut priority = Self::default();
        for member in value.split(|byte| *byte == b',') {
            // Parameters of a member are ignored (RFC 8941 §3.1.2).
            let member = member.split(|byte| *byte == b';').next().unwrap_or_default();
            match member.trim_ascii() {
                [b'u', b'=', urgency @ b'0'..=b'7'] => priority.urgency = urgency - b'0',
                b"i" | b"i=?1" => priority.incremental = true,
                b"i=?0" => priority.incremental = false,
                _ => {}
            }
        }
        priority
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_priority_is_read_and_what_is_not_understood_is_ignored() {
        let cases: &[(&str, u8, bool)] = &[
            ("", 3, false),
            ("u=0", 0, false),
            ("i", 3, true),
            ("u=5, i", 5, true),
            ("i,u=7", 7, true),
            ("u=1, i=?0", 1, false),
            ("u=2, u=4", 4, false), // the last one counts (RFC 8941 §4.2.2)
            ("u=8", 3, false),
            ("u=-1", 3, false),
            ("u=10, i=1", 3, false),
            ("u=1;x=2, foo=bar, i;y", 1, true),
            ("U=1", 3, false),
            ("\u{0}\"", 3, false),
        ];
        for (value, urgency, incremental) in cases {
            let want = Priority { urgency: *urgency, incremental: *incremental };
            assert_eq!(Priority::parse(value.as_bytes()), want, "{value:?}");
        }
    }
}
