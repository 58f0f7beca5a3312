//! Decides which responses are compressed, and with which coding.

use super::encoder::encode_whole;
use super::fields::{self, Hint};
use super::memory::{Reservation, encoder_bytes};
use super::settings::{Settings, Target};
use super::shortage;
use super::source::Encoded;
use crate::handler::{Filter, RequestInfo};
use crate::media_type::Compressibility;
use hayami_http::negotiate::{self, Accepted};
use hayami_http::{Content, Known, Method, Response, ResponseHead, Status};
use hayami_net::CpuTurn;

/// Content in memory of up to this size is compressed at once, so that its length is known. That takes little time.
const AT_ONCE: usize = 16 * 1024;

/// Compresses responses.
pub(super) struct Compression {
    settings: Settings,
    types: Compressibility,
}

impl Compression {
    pub(super) fn new(settings: &Settings, types: Compressibility) -> Self {
        Self { settings: settings.clone(), types }
    }

    /// Whether its Content-Type says that a response is compressible.
    #[inline]
    fn has_compressible_type(&self, head: &ResponseHead) -> bool {
        head.get(Known::ContentType).is_some_and(|value| self.types.of_type(value))
    }

    /// Whether the 200 response that a 304 or 206 stands for would be compressible. A 304 has no type, and several
    /// ranges have their own: then the path's extension decides, and if that is unknown, the result is true.
    fn stands_for_compressible(&self, request: &RequestInfo<'_>, head: &ResponseHead) -> bool {
        match head.get(Known::ContentType) {
            Some(value) if !value.starts_with(b"multipart/byteranges") => self.types.of_type(value),
            _ => self.types.of_path(request.path).unwrap_or(true),
        }
    }

    /// The slow path, for responses that may be compressible.
    #[inline(never)]
    fn consider(&self, request: &RequestInfo<'_>, response: &mut Response) {
        let stands_for_another = stands_for_another(response.head.status());
        let compressible = match Hint::take(&mut response.head) {
            Hint::On => true,
            Hint::Off => false,
            Hint::Auto if stands_for_another => self.stands_for_compressible(request, &response.head),
            Hint::Auto => self.has_compressible_type(&response.head),
        };
        if !compressible || is_settled(request, response) {
            return;
        }
        if stands_for_another {
            fields::add_vary(&mut response.head);
            if response.head.status() == Status::NOT_MODIFIED {
                fields::match_tag_of_client(request.head, &mut response.head);
            }
        } else if has_content(request, response) && !self.is_too_small(response) {
            fields::add_vary(&mut response.head);
            if let Some((target, memory)) = self.target(request, &response.content) {
                encode(target, memory, response);
            }
        }
    }

    fn is_too_small(&self, response: &Response) -> bool {
        response.content.len().is_some_and(|len| len < self.settings.minimum_size.max(1))
    }

    /// The coding that the client prefers, and memory for its encoder; `None`: the content is sent unchanged.
    fn target(&self, request: &RequestInfo<'_>, content: &Content) -> Option<(Target, Option<Reservation>)> {
        let accepted = negotiate::accepted(request.head.fields().get_all(Known::AcceptEncoding));
        let target = first_of(accepted, &self.settings.targets)?;
        if needs_encoder_briefly(target, content) {
            return Some((target, None));
        }
        let memory = Reservation::new(target).map(|memory| (target, Some(memory)));
        memory.or_else(|| self.cheaper_target(accepted, target))
    }

    /// An alternative that needs less memory, since that is scarce: the same coding at quality 1, or another one.
    #[cold]
    fn cheaper_target(&self, accepted: Accepted, target: Target) -> Option<(Target, Option<Reservation>)> {
        let same = Target { quality: 1, ..target };
        let others = self.settings.targets.iter().filter(|other| accepted.accepts(other.coding));
        let mut cheaper: Vec<Target> = others.copied().chain([same]).collect();
        cheaper.retain(|other| encoder_bytes(*other) < encoder_bytes(target));
        cheaper.sort_by_key(|other| (encoder_bytes(*other), other.coding != target.coding));
        let found = cheaper.into_iter().find_map(|target| Some((target, Some(Reservation::new(target)?))));
        shortage::count(found.is_some());
        found
    }
}

/// The target that the client prefers.
fn first_of(accepted: Accepted, targets: &[Target]) -> Option<Target> {
    let coding = accepted.first_of(targets.iter().map(|target| target.coding));
    targets.iter().find(|target| target.coding == coding).copied()
}

/// Whether the whole content is encoded in one go, so that no encoder waits for the client.
fn needs_encoder_briefly(target: Target, content: &Content) -> bool {
    let len = match content {
        Content::Shared(bytes) => bytes.len() as u64,
        Content::File(slice) => slice.len,
        Content::Empty | Content::Parts(_) | Content::Stream(_) => return false,
    };
    len <= target.piece() as u64 && !target.is_slow()
}

impl Filter for Compression {
    #[inline]
    fn apply(&self, request: &RequestInfo<'_>, response: &mut Response) {
        let head = &response.head;
        if self.has_compressible_type(head)
            || head.get(Known::XCompressHint).is_some()
            || stands_for_another(head.status())
        {
            self.consider(request, response);
        }
    }
}

/// Whether it stands for a 200 response, and must agree with it.
#[inline]
fn stands_for_another(status: Status) -> bool {
    status == Status::NOT_MODIFIED || status == Status::PARTIAL_CONTENT
}

/// Whether the content is encoded already, or must not be transformed.
fn is_settled(request: &RequestInfo<'_>, response: &Response) -> bool {
    response.head.get(Known::ContentEncoding).is_some()
        || fields::forbid_transformation(request.head, &response.head)
}

/// Whether the response is a message with content rather than a tunnel.
fn has_content(request: &RequestInfo<'_>, response: &Response) -> bool {
    let status = response.head.status();
    let tunnel = request.head.method() == Method::Connect || request.tunnel && status.code() < 300;
    !tunnel && !status.forbids_content()
}

/// Replaces content by its encoded form.
fn encode(target: Target, memory: Option<Reservation>, response: &mut Response) {
    response.content = match std::mem::take(&mut response.content) {
        Content::Shared(bytes) if bytes.len() <= AT_ONCE && !target.is_slow() && CpuTurn::is_free() => {
            match CpuTurn::run(|| encode_whole(target, bytes.as_slice())) {
                Ok(encoded) => Content::from(encoded),
                // Out of memory: the content is sent unchanged.
                Err(_) => {
                    response.content = Content::Shared(bytes);
                    return;
                }
            }
        }
        content => Content::Stream(Box::new(Encoded::new(content, target, memory))),
    };
    fields::set_encoded(&mut response.head, target.coding);
}

#[cfg(test)]
mod tests {
    use super::super::encoder::tests::{decoded, text};
    use super::super::settings::PIECE;
    use super::*;
    use crate::handler::testing;
    use hayami_http::negotiate::Coding;

    fn filter(targets: &[(Coding, u8)]) -> Compression {
        let targets = targets.iter().map(|(coding, quality)| Target { coding: *coding, quality: *quality });
        let settings = Settings { targets: targets.collect(), ..Settings::default() };
        let types = [("application/x-thing", true)];
        let by_extension = |path: &[u8]| match path {
            b"/a.css" => Some(true),
            b"/a.png" => Some(false),
            _ => None,
        };
        Compression::new(&settings, Compressibility::new(types, by_extension))
    }

    const ALL: [(Coding, u8); 3] = [(Coding::Brotli, 1), (Coding::Zstd, 3), (Coding::Gzip, 1)];

    /// A request and a response, to be filtered.
    struct Case {
        method: &'static str,
        path: &'static str,
        asked: Vec<(&'static str, &'static str)>,
        status: u16,
        fields: Vec<(&'static str, &'static str)>,
        content: Content,
        tunnel: bool,
    }

    impl Default for Case {
        fn default() -> Self {
            Self {
                method: "GET",
                path: "/a.css",
                asked: vec![("accept-encoding", "gzip, br, zstd")],
                status: 200,
                fields: vec![("content-type", "text/css"), ("etag", "\"a\""), ("accept-ranges", "bytes")],
                content: Content::from(text(1000)),
                tunnel: false,
            }
        }
    }

    impl Case {
        fn response(self) -> Response {
            let mut head = testing::head(self.method, self.path);
            for (name, value) in &self.asked {
                head.fields_mut().append(name.as_bytes(), value.as_bytes());
            }
            let mut response = Response::empty(Status::new(self.status).expect("a status"));
            self.fields
                .iter()
                .for_each(|(name, value)| response.head.append(name.as_bytes(), value.as_bytes()));
            response.content = self.content;
            let request = RequestInfo { head: &head, path: self.path.as_bytes(), tunnel: self.tunnel };
            filter(&ALL).apply(&request, &mut response);
            response
        }

        /// Content coding, `vary` and entity tag.
        fn shown(self) -> [String; 3] {
            let response = self.response();
            ["content-encoding", "vary", "etag"].map(|name| {
                let value = response.head.get_named(name.as_bytes()).unwrap_or_default();
                String::from_utf8_lossy(value).into_owned()
            })
        }
    }

    const ENCODED: [&str; 3] = ["br", "accept-encoding", "W/\"a\""];
    const VARIED: [&str; 3] = ["", "accept-encoding", "\"a\""];
    const UNTOUCHED: [&str; 3] = ["", "", "\"a\""];

    fn with(fields: &[(&'static str, &'static str)]) -> Case {
        let mut case = Case::default();
        case.fields.extend_from_slice(fields);
        case
    }

    fn typed(media_type: &'static str) -> Case {
        Case { fields: vec![("content-type", media_type), ("etag", "\"a\"")], ..Case::default() }
    }

    fn untyped(status: u16, path: &'static str) -> Case {
        Case { status, path, fields: vec![("etag", "\"a\"")], content: Content::Empty, ..Case::default() }
    }

    fn asking(fields: &[(&'static str, &'static str)]) -> Case {
        Case { asked: fields.to_vec(), ..Case::default() }
    }

    #[test]
    fn the_decision_is_that_of_the_table() {
        let stream = || {
            Content::Stream(Box::new(Encoded::new(
                Content::Empty,
                Target { coding: Coding::Gzip, quality: 1 },
                None,
            )))
        };
        let cases: Vec<(&str, Case, [&str; 3])> = vec![
            ("plain", Case::default(), ENCODED),
            ("POST", Case { method: "POST", ..Case::default() }, ENCODED),
            ("HEAD", Case { method: "HEAD", ..Case::default() }, ENCODED),
            ("unknown length", Case { content: stream(), ..Case::default() }, ENCODED),
            ("error page", Case { status: 404, ..Case::default() }, ENCODED),
            // Types.
            ("image", typed("image/png"), UNTOUCHED),
            ("event stream", typed("text/event-stream"), ENCODED),
            ("configured", typed("application/x-thing"), ENCODED),
            ("no type", Case { fields: vec![("etag", "\"a\"")], ..Case::default() }, UNTOUCHED),
            // Size.
            ("99 bytes", Case { content: Content::from(text(99)), ..Case::default() }, UNTOUCHED),
            ("100 bytes", Case { content: Content::from(text(100)), ..Case::default() }, ENCODED),
            ("no content", Case { content: Content::Empty, ..Case::default() }, UNTOUCHED),
            // The accepted codings.
            ("nothing said", asking(&[]), VARIED),
            ("identity", asking(&[("accept-encoding", "identity")]), VARIED),
            ("another", asking(&[("accept-encoding", "deflate")]), VARIED),
            ("refused", asking(&[("accept-encoding", "br;q=0, zstd;q=0, gzip;q=0")]), VARIED),
            ("nothing at all", asking(&[("accept-encoding", "*;q=0")]), VARIED),
            ("anything", asking(&[("accept-encoding", "*")]), ENCODED),
            ("preference", asking(&[("accept-encoding", "gzip;q=0.9, br, zstd;q=0.5")]), ENCODED),
            // Other reasons.
            ("encoded", with(&[("content-encoding", "gzip")]), ["gzip", "", "\"a\""]),
            ("no-transform", with(&[("cache-control", "public, no-transform")]), UNTOUCHED),
            (
                "no-transform of the client",
                asking(&[("accept-encoding", "br"), ("cache-control", "no-transform")]),
                UNTOUCHED,
            ),
            ("hint off", with(&[("x-compress-hint", "off")]), UNTOUCHED),
            ("hint auto", with(&[("x-compress-hint", "auto")]), ENCODED),
            (
                "hint on",
                Case {
                    fields: vec![("content-type", "image/png"), ("etag", "\"a\""), ("x-compress-hint", "on")],
                    ..Case::default()
                },
                ENCODED,
            ),
            // Other fields.
            ("vary", with(&[("vary", "origin")]), ["br", "origin, accept-encoding", "W/\"a\""]),
            ("vary twice", with(&[("vary", "Accept-Encoding")]), ["br", "Accept-Encoding", "W/\"a\""]),
            // 206 and 304.
            ("a range", Case { status: 206, ..Case::default() }, VARIED),
            ("several ranges", Case { status: 206, ..typed("multipart/byteranges; boundary=x") }, VARIED),
            (
                "ranges of an image",
                Case { status: 206, path: "/a.png", ..typed("multipart/byteranges; boundary=x") },
                UNTOUCHED,
            ),
            ("a range of an image", Case { status: 206, ..typed("image/png") }, UNTOUCHED),
            ("304", untyped(304, "/a.css"), VARIED),
            ("304 of an image", untyped(304, "/a.png"), UNTOUCHED),
            ("304 of something", untyped(304, "/a"), VARIED),
            (
                "304 to the weak tag",
                Case { asked: vec![("if-none-match", "W/\"a\"")], ..untyped(304, "/a.css") },
                ["", "accept-encoding", "W/\"a\""],
            ),
            (
                "304 to the weak tag of an image",
                Case { asked: vec![("if-none-match", "W/\"a\"")], ..untyped(304, "/a.png") },
                UNTOUCHED,
            ),
            (
                "304 with a coding",
                Case {
                    fields: vec![("etag", "\"a\""), ("content-encoding", "gzip")],
                    asked: vec![("if-none-match", "W/\"a\"")],
                    ..untyped(304, "/a.css")
                },
                ["gzip", "", "\"a\""],
            ),
            // Messages without content, and tunnels.
            ("204", Case { status: 204, ..Case::default() }, UNTOUCHED),
            ("101", Case { status: 101, tunnel: true, ..Case::default() }, UNTOUCHED),
            ("CONNECT", Case { method: "CONNECT", tunnel: true, ..Case::default() }, UNTOUCHED),
            ("tunnel over HTTP/2", Case { tunnel: true, ..Case::default() }, UNTOUCHED),
            ("tunnel refused", Case { tunnel: true, status: 404, ..Case::default() }, ENCODED),
        ];
        for (name, case, want) in cases {
            assert_eq!(case.shown(), want, "{name}");
        }
    }

    #[test]
    fn small_content_in_memory_is_encoded_at_once_and_other_content_while_it_is_sent() {
        let content = |len| Case { content: Content::from(text(len)), ..Case::default() }.response();
        let small = content(AT_ONCE);
        let Content::Shared(bytes) = &small.content else { panic!("{small:?}") };
        assert!(decoded(Coding::Brotli, bytes.as_slice()) == text(AT_ONCE));
        let large = content(AT_ONCE + 1);
        assert!(matches!(large.content, Content::Stream(_)), "{large:?}");
        assert_eq!(large.content.len(), None);
        for response in [small, large] {
            assert!(response.head.get_named(b"accept-ranges").is_none());
            assert_eq!(response.head.get(Known::ContentType), Some(&b"text/css"[..]));
        }
    }

    #[test]
    fn without_memory_a_response_takes_a_cheaper_coding_or_none_and_still_varies() {
        let hold = |coding, quality| {
            std::iter::from_fn(move || Reservation::new(Target { coding, quality })).collect::<Vec<_>>()
        };
        let shown = || Case { content: Content::from(text(100_000)), ..Case::default() }.shown();
        let large = hold(Coding::Brotli, 1);
        assert_eq!(shown()[0], "gzip", "br is full");
        let small = hold(Coding::Gzip, 1);
        assert_eq!(shown(), VARIED);
        let brief = Case { content: Content::from(text(PIECE)), ..Case::default() };
        assert_eq!(brief.shown(), ENCODED, "its encoder does not stay");
        drop((large, small));
        assert_eq!(shown(), ENCODED);
    }

    #[test]
    fn what_is_left_alone_keeps_its_content_and_its_fields() {
        let mut response = Response::empty(Status::OK);
        let mut shared = hayami_http::FieldSection::default();
        shared.append(b"content-type", b"image/png");
        let shared = std::sync::Arc::new(shared);
        response.head = ResponseHead::with_shared(Status::OK, std::sync::Arc::clone(&shared));
        response.content = Content::from(text(1000));
        let head = testing::get("/a.png");
        filter(&ALL).apply(&RequestInfo { head: &head, path: b"/a.png", tunnel: false }, &mut response);
        assert_eq!(std::sync::Arc::strong_count(&shared), 2, "no copy of the fields");
        assert!(matches!(response.content, Content::Shared(_)));
    }

    #[test]
    fn the_first_of_the_codings_is_the_servers_preference() {
        for (targets, accepted, want) in [
            (&[(Coding::Gzip, 1), (Coding::Brotli, 1)][..], "br, gzip", "gzip"),
            (&[(Coding::Zstd, 1), (Coding::Brotli, 1)], "br, gzip", "br"),
            (&[(Coding::Zstd, 1), (Coding::Gzip, 1)], "br, gzip;q=0.3", "gzip"),
        ] {
            let mut head = testing::get("/");
            head.fields_mut().append(b"accept-encoding", accepted.as_bytes());
            let mut response = Response::text(Status::OK, text(500));
            filter(targets).apply(&RequestInfo { head: &head, path: b"/", tunnel: false }, &mut response);
            assert_eq!(response.head.get(Known::ContentEncoding), Some(want.as_bytes()), "{targets:?}");
        }
    }
}
