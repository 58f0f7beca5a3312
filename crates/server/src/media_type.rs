//! Which media types are compressible: a rule by name, and exceptions in the configuration.

/// A Content-Type without its parameters.
pub fn essence(content_type: &[u8]) -> &[u8] {
    let end = memchr::memchr(b';', content_type).unwrap_or(content_type.len());
    content_type[..end].trim_ascii()
}

/// Types that are text in all but name, or binary without compression of their own: kind and subtypes, in lower case.
/// Every kind here also has subtypes in JSON and XML (`+json`, `+xml`).
const OTHERS: [(&[u8], &[&[u8]]); 4] = [
    (
        b"application",
        &[
            b"json",
            b"javascript",
            b"xml",
            b"wasm",
            b"x-javascript",
            b"ecmascript",
            b"json-seq",
            b"json5",
            b"jsonl",
            b"x-ndjson",
            b"yaml",
            b"x-yaml",
            b"toml",
            b"graphql",
            b"n-quads",
            b"n-triples",
            b"xml-dtd",
            b"rtf",
            b"sql",
            b"postscript",
            b"x-sh",
            b"x-csh",
            b"x-tcl",
            b"x-tex",
            b"x-latex",
            b"x-font-ttf",
            b"x-font-otf",
            b"vnd.ms-fontobject",
            b"vnd.apple.mpegurl",
            b"x-mpegurl",
        ],
    ),
    (b"font", &[b"ttf", b"otf", b"collection"]),
    (b"image", &[b"bmp", b"x-icon", b"vnd.microsoft.icon", b"x-portable-pixmap"]),
    (b"model", &[b"obj", b"stl"]),
];

/// Whether content of this type is compressible, judging by its name: text in any form, but no formats that are
/// compressed already. Takes a type without parameters, in any case.
pub fn is_compressible(essence: &[u8]) -> bool {
    let Some(slash) = memchr::memchr(b'/', essence) else { return false };
    let (kind, subtype) = (&essence[..slash], &essence[slash + 1..]);
    if kind.eq_ignore_ascii_case(b"text") {
        return true;
    }
    let Some((_, names)) = OTHERS.iter().find(|(known, _)| kind.eq_ignore_ascii_case(known)) else {
        return false;
    };
    has_suffix(subtype, b"+json")
        || has_suffix(subtype, b"+xml")
        || names.iter().any(|name| subtype.eq_ignore_ascii_case(name))
}

/// Whether the subtype has a structured syntax suffix (RFC 6838 §4.2.8).
fn has_suffix(subtype: &[u8], suffix: &[u8]) -> bool {
    let start = subtype.len().checked_sub(suffix.len());
    start.is_some_and(|start| subtype[start..].eq_ignore_ascii_case(suffix))
}

/// Whether the file at a path is compressible; `None` if unknown.
type OfPath = dyn Fn(&[u8]) -> Option<bool>;

/// The compressibility of media types in a configuration.
pub struct Compressibility {
    /// Types without parameters that differ from [`is_compressible`].
    exceptions: Vec<(Box<[u8]>, bool)>,
    of_path: Box<OfPath>,
}

impl Compressibility {
    /// Takes types, each with whether it is compressible, and a function for the file at a path, which decides by its
    /// extension.
    pub fn new<'a>(
        types: impl IntoIterator<Item = (&'a str, bool)>,
        of_path: impl Fn(&[u8]) -> Option<bool> + 'static,
    ) -> Self {
        let stated = types.into_iter().map(|(name, stated)| (essence(name.as_bytes()), stated));
        let exceptions = stated.filter(|(essence, stated)| is_compressible(essence) != *stated);
        let exceptions = exceptions.map(|(essence, stated)| (essence.into(), stated)).collect();
        Self { exceptions, of_path: Box::new(of_path) }
    }

    /// Whether content of this Content-Type is compressible.
    #[inline]
    pub fn of_type(&self, content_type: &[u8]) -> bool {
        let essence = essence(content_type);
        let exception = self.exceptions.iter().find(|(own, _)| own.eq_ignore_ascii_case(essence));
        exception.map_or_else(|| is_compressible(essence), |(_, stated)| *stated)
    }

    /// Whether the file at this path is compressible; `None` if its extension is unknown.
    pub fn of_path(&self, path: &[u8]) -> Option<bool> {
        (self.of_path)(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_in_any_form_is_compressible_and_what_is_compressed_already_is_not() {
        let cases = [
            ("text/html", true),
            ("TEXT/HTML; charset=utf-8", true),
            ("text/event-stream", true),
            ("text/css ;x", true),
            ("application/json", true),
            ("application/JavaScript", true),
            ("application/xml", true),
            ("application/problem+json", true),
            ("application/ATOM+XML;type=feed", true),
            ("application/wasm", true),
            ("image/svg+xml", true),
            ("image/x-icon", true),
            ("font/ttf", true),
            ("model/gltf+json", true),
            ("image/png", false),
            ("image/jpeg", false),
            ("image/webp", false),
            ("video/mp4", false),
            ("video/x+json", false),
            ("audio/mpeg", false),
            ("font/woff2", false),
            ("font/woff", false),
            ("application/zip", false),
            ("application/gzip", false),
            ("application/pdf", false),
            ("application/octet-stream", false),
            ("application/grpc", false),
            ("application/vnd.openxmlformats-officedocument.wordprocessingml.document", false),
            ("multipart/byteranges; boundary=x", false),
            ("+xml", false),
            ("text", false),
            ("", false),
        ];
        for (name, want) in cases {
            assert_eq!(is_compressible(essence(name.as_bytes())), want, "{name}");
        }
    }

    #[test]
    fn the_configuration_says_otherwise_of_single_types() {
        let types = [("application/x-thing; v=1", true), ("text/css", false), ("text/html", true)];
        let own = Compressibility::new(types, |path| path.ends_with(b".thing").then_some(true));
        for (name, want) in [
            ("application/x-thing", true),
            ("Application/X-Thing;v=2", true),
            ("text/css; charset=utf-8", false),
            ("text/html", true),
            ("text/plain", true),
            ("image/png", false),
        ] {
            assert_eq!(own.of_type(name.as_bytes()), want, "{name}");
        }
        assert_eq!(own.exceptions.len(), 2);
        assert_eq!((own.of_path(b"/a.thing"), own.of_path(b"/a")), (Some(true), None));
    }
}
