//! A client and a server back to back: what one encodes, the other decodes, in whatever pieces.

use hayami_h1::{
    Client, ClientEvent, Event, Fault, Framing, Limits, Next, RequestContent, ResponseContent, Server,
};
use hayami_http::{FieldSection, RequestHead, ResponseHead, Status};
use proptest::prelude::*;

/// One exchange: what is asked and what is answered.
#[derive(Clone, Debug)]
struct Exchange {
    method: &'static [u8],
    target: Vec<u8>,
    fields: Vec<(Vec<u8>, Vec<u8>)>,
    request: Body,
    status: Status,
    response: Body,
    interim: bool,
}

/// Content in pieces.
#[derive(Clone, Debug)]
struct Body {
    pieces: Vec<Vec<u8>>,
    chunked: bool,
    trailer: Option<Vec<u8>>,
}

impl Body {
    fn bytes(&self) -> Vec<u8> {
        self.pieces.concat()
    }

    fn length(&self) -> Option<u64> {
        (!self.chunked).then(|| self.bytes().len() as u64)
    }

    fn trailers(&self) -> Option<FieldSection> {
        self.trailer.as_ref().map(|value| {
            let mut section = FieldSection::default();
            section.append(b"digest", value);
            section
        })
    }
}

fn body() -> impl Strategy<Value = Body> {
    let pieces = prop::collection::vec(prop::collection::vec(any::<u8>(), 0..40), 0..5);
    (pieces, any::<bool>(), prop::option::of(value())).prop_map(|(pieces, chunked, trailer)| Body {
        pieces,
        chunked,
        trailer: trailer.filter(|_| chunked),
    })
}

fn value() -> impl Strategy<Value = Vec<u8>> {
    "([!-~]([ -~\t]{0,30}[!-~])?)?".prop_map(String::into_bytes)
}

fn exchange() -> impl Strategy<Value = Exchange> {
    let method = prop::sample::select(vec![&b"GET"[..], b"HEAD", b"POST", b"PURGE"]);
    let target = "/[!\"$-~]{0,20}".prop_map(String::into_bytes);
    let field = ("x-[a-z]{1,8}".prop_map(String::into_bytes), value());
    let status = prop::sample::select(vec![200_u16, 204, 206, 304, 404, 500, 599]);
    let status = status.prop_map(|code| Status::new(code).expect("three digits"));
    (method, target, prop::collection::vec(field, 0..5), body(), status, body(), any::<bool>()).prop_map(
        |(method, target, fields, request, status, response, interim)| Exchange {
            method,
            target,
            fields,
            request,
            status,
            response,
            interim,
        },
    )
}

/// Splits bytes where `cuts` say.
fn split<'a>(bytes: &'a [u8], cuts: &[usize]) -> Vec<&'a [u8]> {
    let mut cuts: Vec<usize> = cuts.iter().map(|cut| cut % (bytes.len() + 1)).collect();
    cuts.extend([0, bytes.len()]);
    cuts.sort();
    cuts.windows(2).map(|pair| &bytes[pair[0]..pair[1]]).collect()
}

/// Everything asked by a pipelining client.
fn ask(client: &mut Client, exchanges: &[Exchange]) -> Vec<u8> {
    let mut out = Vec::new();
    for exchange in exchanges {
        let mut fields = FieldSection::default();
        fields.append(b"host", b"example.org");
        exchange.fields.iter().for_each(|(name, value)| fields.append(name, value));
        let content = exchange.request.length().map_or(RequestContent::Chunked, RequestContent::Length);
        client.send_head(exchange.method, &exchange.target, &fields, content, &mut out).expect("in turn");
        exchange.request.pieces.iter().for_each(|piece| client.send_content(piece, &mut out));
        client.send_end(exchange.request.trailers().as_ref(), &mut out).expect("in turn");
    }
    out
}

/// A server that checks each request against what was asked, and answers it.
struct Answering<'a> {
    server: Server,
    exchanges: std::slice::Iter<'a, Exchange>,
    head: RequestHead,
    content: Vec<u8>,
    out: Vec<u8>,
}

impl Answering<'_> {
    fn run(&mut self, pieces: &[&[u8]]) -> Result<(), Fault> {
        let mut input = Vec::new();
        for piece in pieces {
            input.extend_from_slice(piece);
            loop {
                let received = self.server.receive(&Limits::default(), &input, &mut self.head)?;
                match &received.event {
                    Event::Content(range) => self.content.extend_from_slice(&input[range.clone()]),
                    Event::Request(RequestContent::None) | Event::End => self.answer(),
                    Event::Request(_) | Event::More => {}
                }
                input.drain(..received.consumed);
                if received.event == Event::More {
                    break;
                }
            }
        }
        assert!(input.is_empty() && self.exchanges.len() == 0);
        Ok(())
    }

    fn answer(&mut self) {
        let exchange = self.exchanges.next().expect("no more requests than were sent");
        assert_eq!((self.head.method_name(), self.head.target()), (exchange.method, &exchange.target[..]));
        let fields = self.head.fields().iter().filter(|(name, _)| name.starts_with(b"x-"));
        assert!(fields.eq(exchange.fields.iter().map(|(n, v)| (&n[..], &v[..]))));
        assert_eq!(std::mem::take(&mut self.content), exchange.request.bytes());
        let trailers = self.server.take_trailers();
        assert_eq!(digest(trailers), exchange.request.trailer);
        if exchange.interim {
            self.server.send_interim(&ResponseHead::new(Status::EARLY_HINTS), &mut self.out);
        }
        let response = &exchange.response;
        let head = ResponseHead::new(exchange.status);
        let framing = self.server.send_head(&head, response.length(), b"", &mut self.out);
        assert_eq!(framing == Framing::Chunked, response.chunked && has_content(exchange));
        response.pieces.iter().for_each(|piece| self.server.send_content(piece, &mut self.out));
        self.server.send_end(response.trailers().as_ref(), &mut self.out).expect("all was sent");
        assert_eq!(self.server.next(), Next::KeepAlive);
    }
}

fn has_content(exchange: &Exchange) -> bool {
    exchange.method != b"HEAD" && !exchange.status.forbids_content()
}

fn digest(trailers: Option<FieldSection>) -> Option<Vec<u8>> {
    trailers.and_then(|section| section.get_named(b"digest").map(<[u8]>::to_vec))
}

/// A client that checks each response against what was answered.
fn check_answers(client: &mut Client, exchanges: &[Exchange], pieces: &[&[u8]]) -> Result<(), Fault> {
    let (mut input, mut head, mut content) = (Vec::new(), ResponseHead::new(Status::OK), Vec::new());
    let mut expected = exchanges.iter();
    let mut done = |content: &mut Vec<u8>, status: Status, trailers: Option<FieldSection>| {
        let exchange = expected.next().expect("no more responses than requests");
        assert_eq!(status, exchange.status);
        let want = if has_content(exchange) { exchange.response.bytes() } else { Vec::new() };
        assert_eq!(std::mem::take(content), want);
        let trailer = exchange.response.trailer.clone().filter(|_| has_content(exchange));
        assert_eq!(digest(trailers), trailer);
    };
    for piece in pieces {
        input.extend_from_slice(piece);
        loop {
            let received = client.receive(&Limits::default(), &input, &mut head)?;
            match &received.event {
                ClientEvent::Content(range) => content.extend_from_slice(&input[range.clone()]),
                ClientEvent::Response(ResponseContent::None) => done(&mut content, head.status(), None),
                ClientEvent::End => done(&mut content, head.status(), client.take_trailers()),
                ClientEvent::Interim => assert_eq!(head.status(), Status::EARLY_HINTS),
                ClientEvent::Response(_) | ClientEvent::More => {}
            }
            input.drain(..received.consumed);
            if received.event == ClientEvent::More {
                break;
            }
        }
    }
    assert!(input.is_empty() && client.is_idle() && client.receive_eof() == Ok(ClientEvent::More));
    Ok(())
}

proptest! {
    #[test]
    fn what_one_role_says_the_other_understands(
        exchanges in prop::collection::vec(exchange(), 1..5),
        cuts in prop::collection::vec(any::<usize>(), 0..30),
    ) {
        let mut client = Client::new();
        let asked = ask(&mut client, &exchanges);
        let mut answering = Answering {
            server: Server::new(),
            exchanges: exchanges.iter(),
            head: RequestHead::default(),
            content: Vec::new(),
            out: Vec::new(),
        };
        prop_assert_eq!(answering.run(&split(&asked, &cuts)), Ok(()));
        let pieces = split(&answering.out, &cuts);
        prop_assert_eq!(check_answers(&mut client, &exchanges, &pieces), Ok(()));
    }
}
