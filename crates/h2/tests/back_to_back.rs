//! A client and a server joined by two pipes on a fake clock: whatever the sizes, the windows and the pieces
//! in which bytes arrive, all content arrives in order and complete, and neither reports a fault.

use hayami_h2::{
    Body, Client, ClientEvent, Config, ErrorCode, Event, Key, Request, RequestContent, ResponseContent,
    Server,
};
use hayami_http::{FieldSection, Known, RequestHead, ResponseHead, Status};
use proptest::prelude::*;
use std::collections::VecDeque;

/// One exchange.
#[derive(Clone, Debug)]
struct Exchange {
    /// Bytes of the request's content; `None`: a GET.
    asked: Option<usize>,
    /// Bytes of the response's content.
    answered: usize,
    announced: bool,
    trailers: bool,
    priority: String,
    /// The client cancels after this many bytes.
    canceled_after: Option<usize>,
}

fn exchange() -> impl Strategy<Value = Exchange> {
    let size = || prop_oneof![Just(0), 1..100_usize, 1000..60_000_usize];
    let canceled = prop::option::weighted(0.1, 0..5000_usize);
    (prop::option::of(size()), size(), any::<bool>(), any::<bool>(), "u=[0-7](, i)?", canceled).prop_map(
        |(asked, answered, announced, trailers, priority, canceled_after)| Exchange {
            asked,
            answered,
            announced,
            trailers,
            priority,
            canceled_after,
        },
    )
}

/// Settings, sizes of pieces and ticks of the clock.
#[derive(Clone, Debug)]
struct Weather {
    client: Config,
    server: Config,
    pieces: Vec<usize>,
    /// The server hears of smaller windows now and then, and of the true one in the end.
    window_changes: Vec<u32>,
}

fn config() -> impl Strategy<Value = Config> {
    (1..20_u32, prop_oneof![0..300_u32, 16_000..100_000_u32], 16_384..40_000_u32, 0..2_u32).prop_map(
        |(streams, window, frame, table)| Config {
            max_concurrent_streams: streams,
            initial_window: window.max(50),
            max_stream_window: 1 << 18,
            connection_window: 65_535,
            max_connection_window: 1 << 19,
            max_frame: frame,
            table_size: table * 4096,
            ..Config::default()
        },
    )
}

fn weather() -> impl Strategy<Value = Weather> {
    let pieces = prop::collection::vec(prop_oneof![1..50_usize, 100..20_000_usize], 1..20);
    let pieces = pieces.prop_map(|pieces| [pieces, vec![20_000]].concat());
    let changes = prop::collection::vec(0..100_000_u32, 0..4);
    (config(), config(), pieces, changes).prop_map(|(client, server, pieces, mut window_changes)| {
        window_changes.iter_mut().for_each(|size| *size %= client.initial_window);
        window_changes.push(client.initial_window);
        Weather { client, server, pieces, window_changes }
    })
}

/// The byte at a position of a content: different for each stream and direction.
fn byte(stream: u32, answer: bool, at: usize) -> u8 {
    (stream as usize * 31 + at * 7 + at / 251 + usize::from(answer)) as u8
}

fn content(stream: u32, answer: bool, from: usize, len: usize) -> Vec<u8> {
    (from..from + len).map(|at| byte(stream, answer, at)).collect()
}

/// The data of a stream, on both sides.
#[derive(Debug, Default)]
struct Stream {
    exchange: usize,
    received: usize,
    /// Bytes to be sent, and how many were.
    size: usize,
    sent: usize,
    answering: bool,
}

struct Pair {
    exchanges: Vec<Exchange>,
    client: Client<Stream>,
    server: Server<Stream>,
    to_server: Vec<u8>,
    to_client: Vec<u8>,
    /// Exchanges to be requested, refused ones again.
    waiting: VecDeque<usize>,
    finished: usize,
    unconsumed: Vec<(Key, usize, bool)>,
    now: u32,
}

/// A pipe's bytes arrive in pieces.
fn arrive(from: &mut Vec<u8>, into: &mut Vec<u8>, piece: usize) {
    let piece = piece.min(from.len());
    into.extend(from.drain(..piece));
}

impl Pair {
    fn new(exchanges: Vec<Exchange>, weather: &Weather) -> Self {
        let (mut to_server, mut to_client) = (Vec::new(), Vec::new());
        let (mut client, mut server) = (Client::new(&weather.client), Server::new(&weather.server));
        client.start(&weather.client, &mut to_server);
        server.start(&weather.server, &mut to_client);
        let waiting = (0..exchanges.len()).collect();
        let unconsumed = Vec::new();
        Self { exchanges, client, server, to_server, to_client, waiting, finished: 0, unconsumed, now: 0 }
    }

    fn ask(&mut self, config: &Config) {
        while self.client.capacity(config) > 0
            && let Some(number) = self.waiting.pop_front()
        {
            let exchange = &self.exchanges[number];
            let mut fields = FieldSection::default();
            fields.append(b"x-exchange", number.to_string().as_bytes());
            fields.append(b"priority", exchange.priority.as_bytes());
            fields.append(b"connection", b"dropped");
            let content = match exchange.asked {
                None => RequestContent::None,
                Some(size) if exchange.announced => RequestContent::Length(size as u64),
                Some(_) => RequestContent::Unknown,
            };
            let path = format!("/{number}");
            let request = Request {
                method: if exchange.asked.is_some() { b"POST" } else { b"GET" },
                scheme: b"https",
                authority: b"a.example",
                path: path.as_bytes(),
                protocol: None,
                content,
            };
            let key =
                self.client.send_request(config, &request, &fields, &mut self.to_server).expect("capacity");
            let stream = self.client.get(key).expect("open");
            *stream = Stream { exchange: number, size: exchange.asked.unwrap_or(0), ..Stream::default() };
            match exchange.asked {
                Some(0) => self.client.send_data(key, b"", true, &mut self.to_server),
                Some(_) => self.client.set_ready(key, true),
                None => {}
            }
        }
    }

    /// Both send what they may.
    fn send(&mut self) {
        while self.to_server.len() < 50_000
            && let Some((key, room)) = self.client.next()
        {
            let trailers = self.exchanges[self.client.get(key).expect("open").exchange].trailers;
            let stream = self.client.get(key).expect("open");
            let (from, len) = (stream.sent, room.min(stream.size - stream.sent));
            stream.sent += len;
            let end = stream.sent == stream.size;
            let bytes = content(key.stream_id(), false, from, len);
            self.client.send_data(key, &bytes, end && !trailers, &mut self.to_server);
            if end && trailers {
                self.client.send_trailers(key, &digest(), &mut self.to_server);
            }
        }
        while self.to_client.len() < 50_000
            && let Some((key, room)) = self.server.next()
        {
            let trailers = self.exchanges[self.server.get(key).expect("open").exchange].trailers;
            let most = self.server.max_data();
            let stream = self.server.get(key).expect("open");
            let (from, len) = (stream.sent, room.min(stream.size - stream.sent).min(most));
            stream.sent += len;
            let end = stream.sent == stream.size;
            self.server.begin_data(key, len, end && !trailers, &mut self.to_client);
            self.to_client.extend(content(key.stream_id(), true, from, len));
            if end && trailers {
                self.server.send_trailers(key, &digest(), &mut self.to_client);
            }
        }
    }

    fn serve(&mut self, config: &Config, input: &mut Vec<u8>) {
        let mut head = RequestHead::default();
        loop {
            let received = self
                .server
                .receive(config, self.now, input, &mut head, &mut self.to_client)
                .expect("no fault");
            let consumed = received.consumed;
            let complete = match received.event {
                Event::More => return,
                Event::Request { key, content } => {
                    let number = head.fields().get_named(b"x-exchange").expect("sent");
                    let number: usize = str::from_utf8(number).expect("digits").parse().expect("digits");
                    assert_eq!(head.path(), format!("/{number}").as_bytes());
                    assert_eq!(head.get(Known::Connection), None);
                    self.server.get(key).expect("open").exchange = number;
                    (content == RequestContent::None).then_some(key)
                }
                Event::Content { key, start, len, end } => {
                    let stream = self.server.get(key).expect("open");
                    let want = content(key.stream_id(), false, stream.received, len);
                    assert_eq!(&input[start..start + len], want);
                    stream.received += len;
                    self.unconsumed.push((key, len, true));
                    end.then_some(key)
                }
                Event::End { key, trailers } => {
                    let stream = self.server.get(key).expect("open");
                    assert!(trailers.is_none() || self.exchanges[stream.exchange].trailers);
                    Some(key)
                }
                Event::Reset { code, fault, .. } => {
                    assert_eq!((code, fault), (ErrorCode::CANCEL, None));
                    None
                }
                Event::Handled => None,
                event => panic!("{event:?}"),
            };
            input.drain(..consumed);
            if let Some(key) = complete {
                self.answer(key);
            }
        }
    }

    fn answer(&mut self, key: Key) {
        let stream = self.server.get(key).expect("open");
        let exchange = &self.exchanges[stream.exchange];
        assert_eq!(stream.received, exchange.asked.unwrap_or(0));
        (stream.size, stream.answering) = (exchange.answered, true);
        let length = exchange.announced.then_some(exchange.answered as u64);
        let mut common = FieldSection::default();
        common.append(b"server", b"s");
        let head = ResponseHead::new(Status::OK);
        let body = self.server.send_head(key, &head, length, &common, 1, &mut self.to_client);
        if body == Body::Content && exchange.answered == 0 {
            self.server.send_data(key, b"", true, &mut self.to_client);
        } else if body == Body::Content {
            self.server.set_ready(key, true);
        }
    }

    fn take(&mut self, config: &Config, input: &mut Vec<u8>) {
        let mut head = ResponseHead::new(Status::OK);
        loop {
            let received = self
                .client
                .receive(config, self.now, input, &mut head, &mut self.to_server)
                .expect("no fault");
            let consumed = received.consumed;
            let end = match received.event {
                ClientEvent::More => return,
                ClientEvent::Response { key, content } => {
                    assert_eq!(head.get_named(b"server"), Some(&b"s"[..]));
                    (content == ResponseContent::None).then_some(key)
                }
                ClientEvent::Content { key, start, len, end } => {
                    let stream = self.client.get(key).expect("open");
                    let want = content(key.stream_id(), true, stream.received, len);
                    assert_eq!(&input[start..start + len], want);
                    stream.received += len;
                    self.unconsumed.push((key, len, false));
                    end.then_some(key)
                }
                ClientEvent::End { key, .. } => Some(key),
                ClientEvent::Handled | ClientEvent::Settings => None,
                // The settings weren't known then.
                ClientEvent::Reset { data, code: ErrorCode::REFUSED_STREAM, fault: None, .. } => {
                    self.waiting.push_back(data.exchange);
                    None
                }
                event => panic!("{event:?}"),
            };
            input.drain(..consumed);
            if let Some(key) = end {
                let stream = self.client.get(key).expect("kept until the next call");
                assert_eq!(stream.received, self.exchanges[stream.exchange].answered);
                self.finished += 1;
            }
        }
    }

    fn cancel(&mut self, keys: &[Key]) {
        for key in keys {
            let Some(stream) = self.client.get(*key) else { continue };
            let exchange = &self.exchanges[stream.exchange];
            let done = stream.received == exchange.answered;
            if !done && exchange.canceled_after.is_some_and(|bytes| stream.received >= bytes) {
                self.client.reset(*key, ErrorCode::CANCEL, &mut self.to_server).expect("open");
                self.finished += 1;
            }
        }
    }

    fn run(&mut self, weather: &Weather) {
        let (mut server_input, mut client_input) = (Vec::new(), Vec::new());
        let mut changes = weather.window_changes.iter();
        let mut quiet_turns = 0;
        for turn in 0_usize.. {
            assert!(turn < 2_000_000, "it comes to an end");
            self.ask(&weather.client);
            self.send();
            let piece = weather.pieces[turn % weather.pieces.len()];
            arrive(&mut self.to_server, &mut server_input, piece);
            self.serve(&weather.server, &mut server_input);
            arrive(&mut self.to_client, &mut client_input, piece);
            self.take(&weather.client, &mut client_input);
            let consumed = std::mem::take(&mut self.unconsumed);
            let keys: Vec<_> = consumed.iter().filter(|(_, _, s)| !s).map(|(key, ..)| *key).collect();
            for (key, len, at_server) in consumed {
                match at_server {
                    // The content of half of the streams is buffered, and consumed later.
                    true if key.stream_id() % 4 == 1 => {
                        self.server.release_connection_window(&weather.server, key, len, &mut self.to_client);
                        self.server.release_stream_window(&weather.server, key, len, &mut self.to_client);
                    }
                    true => self.server.consumed(&weather.server, key, len, &mut self.to_client),
                    false => self.client.consumed(&weather.client, key, len, &mut self.to_server),
                }
            }
            self.cancel(&keys);
            if turn % 7 == 6
                && let Some(size) = changes.next()
            {
                let [a, b, c, d] = size.to_be_bytes();
                self.to_server.extend([0, 0, 6, 4, 0, 0, 0, 0, 0, 0, 4, a, b, c, d]);
            }
            self.now += 1;
            let quiet = self.to_server.is_empty() && self.to_client.is_empty();
            if self.finished == self.exchanges.len() && quiet {
                return;
            }
            quiet_turns = if quiet { quiet_turns + 1 } else { 0 };
            assert!(quiet_turns < 60, "not stuck");
        }
    }
}

fn digest() -> FieldSection {
    let mut fields = FieldSection::default();
    fields.append(b"digest", b"d");
    fields
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(60) })]

    #[test]
    fn all_content_comes_whole(
        exchanges in prop::collection::vec(exchange(), 1..30),
        weather in weather(),
    ) {
        let mut pair = Pair::new(exchanges, &weather);
        pair.run(&weather);
        prop_assert_eq!((pair.client.streams(), pair.server.streams()), (0, 0));
        prop_assert!(!pair.client.has_stalled() && !pair.server.has_stalled());
    }
}
