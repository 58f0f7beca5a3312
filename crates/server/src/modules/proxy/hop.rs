//! Fields that belong to one hop of a message's way (RFC 9110 §7.6.1), and all the others, which go on.

use hayami_http::{FieldSection, Known};

/// Appends the fields of `from` to `to` that `passes` lets through and that no Connection field names.
pub(super) fn pass_on(
    from: &FieldSection,
    to: &mut FieldSection,
    passes: impl Fn(&[u8], Option<Known>) -> bool,
) {
    let named = named_by_connection(from);
    for (name, value, known) in from.iter_known() {
        if passes(name, known) && !named.iter().any(|own| own.eq_ignore_ascii_case(name)) {
            to.append(name, value);
        }
    }
}

/// Names of fields that were meant for the next hop only (RFC 9110 §7.6.1), but for those that are left
/// out in any case.
fn named_by_connection(fields: &FieldSection) -> Vec<Vec<u8>> {
    let lists = fields.get_all(Known::Connection).flat_map(|value| value.split(|octet| *octet == b','));
    let names = lists.map(<[u8]>::trim_ascii).filter(|name| {
        let usual: [&[u8]; 5] = [b"", b"close", b"keep-alive", b"upgrade", b"te"];
        !usual.iter().any(|own| own.eq_ignore_ascii_case(name))
    });
    names.map(<[u8]>::to_vec).collect()
}
