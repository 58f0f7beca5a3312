//! Content that is encoded while it is sent.

use super::encoder::{Encoder, Then};
use super::fields;
use super::memory::Reservation;
use super::pool;
use super::settings::Target;
use crate::content_source::ContentSource;
use hayami_http::{Content, FieldSection, Source, SourceError};
use hayami_net::CpuTurn;
use hayami_net::blocking::{self, Lane, Task};
use std::future::Future;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll};

/// The encoded form of some content.
///
/// Whenever the content pauses, everything so far is flushed to the client. Each piece waits for its CPU turn; output
/// is sent before the next piece, since br would buffer up to 1 MiB and then encode the rest in one go. Slow qualities
/// are encoded on other threads.
///
/// The encoder exists from the first bytes that the client reads until the last input.
pub(super) struct Encoded {
    content: ContentSource,
    target: Target,
    state: State,
    /// Input for the encoder.
    input: Vec<u8>,
    /// Output of the encoder, part of which has been sent.
    ready: Vec<u8>,
    handed_on: usize,
    turn: CpuTurn,
    /// Whether the client cannot decode everything that was encoded.
    unflushed: bool,
    /// Memory for the encoder, as long as there is one.
    memory: Option<Reservation>,
}

enum State {
    /// Between two pieces. Without an encoder, nothing has been read yet; a response to HEAD stays in this state.
    Open(Option<Encoder>),
    /// Another thread is encoding.
    Working(Task<io::Result<Work>>),
    Ended,
    /// The content or the encoder has failed.
    Failed,
}

/// A piece to encode.
struct Work {
    encoder: Option<Encoder>,
    input: Vec<u8>,
    ready: Vec<u8>,
}

impl Work {
    /// Encodes the piece; no encoder is left after the end of the content, whose length may be known.
    fn run(mut self, then: Then, target: Target, length: Option<u64>) -> io::Result<Self> {
        let mut encoder = match self.encoder.take() {
            Some(encoder) => encoder,
            None => Encoder::new(target, length)?,
        };
        encoder.encode(&self.input, then, &mut self.ready)?;
        self.input.clear();
        self.encoder = (then != Then::End).then_some(encoder);
        Ok(self)
    }
}

impl Encoded {
    /// Content to encode with an encoder that may take this memory; `None`: too brief to be counted.
    pub(super) fn new(content: Content, target: Target, memory: Option<Reservation>) -> Self {
        Self {
            content: ContentSource::new(content),
            target,
            state: State::Open(None),
            input: Vec::new(),
            ready: Vec::new(),
            handed_on: 0,
            turn: CpuTurn::default(),
            unflushed: false,
            memory,
        }
    }

    /// Moves ready output to `out`, up to `room` bytes. Returns whether that was the last.
    fn hand_on(&mut self, room: usize, out: &mut Vec<u8>) -> bool {
        let end = self.ready.len().min(self.handed_on.saturating_add(room));
        out.extend_from_slice(&self.ready[self.handed_on..end]);
        self.handed_on = end;
        if end < self.ready.len() {
            self.shrink();
            return false;
        }
        pool::give_buffer(std::mem::take(&mut self.ready));
        self.handed_on = 0;
        matches!(self.state, State::Ended)
    }

    /// Frees the unused memory of output that waits for the client.
    fn shrink(&mut self) {
        let left = &self.ready[self.handed_on..];
        if left.len() < self.ready.capacity() / 2 {
            let left = left.to_vec();
            pool::give_buffer(std::mem::replace(&mut self.ready, left));
            self.handed_on = 0;
        }
    }

    /// Reads the next piece of content, and has it encoded.
    fn advance(&mut self, encoder: Option<Encoder>, cx: &mut Context<'_>) -> Poll<Result<(), SourceError>> {
        let slow = self.target.is_slow();
        if !slow && self.turn.poll(cx).is_pending() {
            self.state = State::Open(encoder);
            return Poll::Pending;
        }
        let then = self.gather(cx)?;
        if then == Then::Pause && self.input.is_empty() && !self.unflushed {
            self.rest(encoder);
            return Poll::Pending;
        }
        let (target, length) = (self.target, self.content.length());
        let ready = if slow { Vec::new() } else { pool::take_buffer() };
        let work = Work { encoder, input: std::mem::take(&mut self.input), ready };
        if slow {
            self.unflushed = then == Then::More;
            let work = move || work.run(then, target, length);
            self.state = State::Working(blocking::run(Lane::Compression, work));
            return Poll::Ready(Ok(()));
        }
        let then = if then == Then::More { Then::Pause } else { then };
        Poll::Ready(self.take(CpuTurn::run(|| work.run(then, target, length))))
    }

    /// Without input: the buffers are released, since a pause may be long.
    fn rest(&mut self, encoder: Option<Encoder>) {
        self.state = State::Open(encoder);
        pool::give_buffer(std::mem::take(&mut self.input));
    }

    /// Collects a piece of content, less if it pauses or ends. Returns what follows it.
    fn gather(&mut self, cx: &mut Context<'_>) -> Result<Then, SourceError> {
        let piece = self.target.piece();
        if self.input.capacity() == 0 {
            self.input = pool::take_buffer();
        }
        while self.input.len() < piece {
            match self.content.fill(cx, piece - self.input.len(), &mut self.input) {
                Poll::Ready(Ok(true)) => return Ok(Then::End),
                Poll::Ready(Ok(false)) => {}
                Poll::Ready(Err(error)) => return Err(error),
                Poll::Pending => return Ok(Then::Pause),
            }
        }
        Ok(Then::More)
    }

    fn take(&mut self, work: io::Result<Work>) -> Result<(), SourceError> {
        let Work { encoder, input, ready } = work.map_err(|error| broken(&error))?;
        self.state = match encoder {
            Some(encoder) => State::Open(Some(encoder)),
            None => {
                self.memory = None;
                State::Ended
            }
        };
        pool::give_buffer(input);
        self.ready = ready;
        Ok(())
    }
}

fn broken(error: &io::Error) -> SourceError {
    SourceError(format!("the content could not be compressed: {error}"))
}

impl Source for Encoded {
    fn fill(
        &mut self,
        cx: &mut Context<'_>,
        room: usize,
        out: &mut Vec<u8>,
    ) -> Poll<Result<bool, SourceError>> {
        while self.ready.is_empty() {
            match std::mem::replace(&mut self.state, State::Failed) {
                State::Open(encoder) => std::task::ready!(self.advance(encoder, cx))?,
                State::Working(mut task) => {
                    let Poll::Ready(work) = Pin::new(&mut task).poll(cx) else {
                        self.state = State::Working(task);
                        return Poll::Pending;
                    };
                    self.take(work.flatten())?;
                }
                State::Ended => {
                    self.state = State::Ended;
                    break;
                }
                State::Failed => {
                    return Poll::Ready(Err(SourceError("the content ended early".to_owned())));
                }
            }
        }
        Poll::Ready(Ok(self.hand_on(room, out)))
    }

    fn trailers(&mut self) -> Option<FieldSection> {
        self.content.trailers().map(fields::of_encoded)
    }
}

#[cfg(test)]
mod tests {
    use super::super::encoder::tests::{decoded, decoded_so_far, text};
    use super::super::settings::PIECE;
    use super::*;
    use crate::handler::testing::Wakes;
    use hayami_http::negotiate::Coding;
    use proptest::prelude::*;
    use std::collections::VecDeque;
    use std::task::Waker;

    /// A step of a source in tests.
    #[derive(Clone, Debug)]
    enum Step {
        Bytes(Vec<u8>),
        Pause,
        Fail,
    }

    /// A source that executes steps, and ends with trailers.
    struct Scripted {
        steps: VecDeque<Step>,
        length: Option<u64>,
    }

    impl Source for Scripted {
        fn fill(
            &mut self,
            cx: &mut Context<'_>,
            room: usize,
            out: &mut Vec<u8>,
        ) -> Poll<Result<bool, SourceError>> {
            match self.steps.pop_front() {
                None => return Poll::Ready(Ok(true)),
                Some(Step::Fail) => return Poll::Ready(Err(SourceError("the upstream is gone".to_owned()))),
                Some(Step::Pause) => {
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Some(Step::Bytes(mut bytes)) => {
                    let rest = bytes.split_off(bytes.len().min(room));
                    out.append(&mut bytes);
                    if !rest.is_empty() {
                        self.steps.push_front(Step::Bytes(rest));
                    }
                }
            }
            Poll::Ready(Ok(self.steps.is_empty()))
        }

        fn length(&self) -> Option<u64> {
            self.length
        }

        fn trailers(&mut self) -> Option<FieldSection> {
            let mut trailers = FieldSection::default();
            trailers.append(b"x-sum", b"1");
            trailers.append(b"repr-digest", b"sha-256=:x:");
            Some(trailers)
        }
    }

    const FAST: [Target; 3] = [
        Target { coding: Coding::Gzip, quality: 1 },
        Target { coding: Coding::Brotli, quality: 5 },
        Target { coding: Coding::Zstd, quality: 3 },
    ];

    fn encoded(target: Target, steps: Vec<Step>, length: Option<u64>) -> Encoded {
        Encoded::new(Content::Stream(Box::new(Scripted { steps: steps.into(), length })), target, None)
    }

    fn bytes(bytes: &[u8]) -> Step {
        Step::Bytes(bytes.to_vec())
    }

    /// All output, read with so much room at a time, and how often it paused.
    fn drain(source: &mut Encoded, room: usize) -> (Vec<u8>, usize) {
        let (mut out, mut pauses, (wakes, waker)) = (Vec::new(), 0, Wakes::new());
        loop {
            let before = out.len();
            match source.fill(&mut Context::from_waker(&waker), room, &mut out) {
                Poll::Ready(Ok(true)) => return (out, pauses),
                Poll::Ready(Ok(false)) => {
                    assert!(out.len() > before, "it says that it has more, and gives none")
                }
                Poll::Ready(Err(error)) => panic!("{error}"),
                Poll::Pending => {
                    pauses += 1;
                    assert!(wakes.take() > 0, "it is woken");
                }
            }
            assert!(out.len() - before <= room);
        }
    }

    #[test]
    fn content_comes_out_whole_whatever_its_pieces_and_the_room() {
        let text = text(150_000);
        for target in FAST {
            for (piece, room) in [(150_000, 1 << 20), (1, 64), (1000, 1), (70_000, 16_384)] {
                for length in [None, Some(text.len() as u64)] {
                    let steps = text.chunks(piece).map(bytes).collect();
                    let mut source = encoded(target, steps, length);
                    assert_eq!(source.length(), None, "it is not known how much comes out");
                    let (packed, _) = drain(&mut source, room);
                    assert!(decoded(target.coding, &packed) == text, "{target:?} {piece} {room}");
                    let trailers = source.trailers().expect("trailers");
                    assert_eq!(trailers.iter().collect::<Vec<_>>(), [(&b"x-sum"[..], &b"1"[..])]);
                }
            }
        }
    }

    #[test]
    fn a_pause_lets_the_client_read_everything_before_it() {
        for target in FAST {
            let steps = vec![
                bytes(b"data: one\n\n"),
                Step::Pause,
                Step::Pause,
                bytes(b"data: two\n\n"),
                Step::Pause,
                Step::Pause,
                bytes(&text(70_000)),
                Step::Pause,
                Step::Pause,
            ];
            let mut source = encoded(target, steps, None);
            let mut cx = Context::from_waker(Waker::noop());
            let (mut out, mut read, mut pauses) = (Vec::new(), Vec::new(), 0);
            loop {
                match source.fill(&mut cx, 1 << 20, &mut out) {
                    Poll::Ready(Ok(true)) => break,
                    Poll::Ready(Ok(false)) => {}
                    Poll::Ready(Err(error)) => panic!("{error}"),
                    Poll::Pending => {
                        pauses += 1;
                        read.push(decoded_so_far(target.coding, &out).len());
                    }
                }
            }
            // How much could be decoded at each pause; a turn ends within the long text as well.
            assert!(read.starts_with(&[11, 22]), "{target:?} {read:?}");
            assert!(read.last() == Some(&70_022) && pauses >= 3, "{target:?} {read:?}");
            assert_eq!(decoded(target.coding, &out).len(), 70_022);
        }
    }

    #[test]
    fn the_client_gets_a_piece_before_the_next_is_encoded() {
        let text = text(1 << 20);
        for target in FAST {
            let mut source = encoded(target, vec![bytes(&text)], None);
            let (mut out, mut cx) = (Vec::new(), Context::from_waker(Waker::noop()));
            for pieces in 1..4 {
                assert!(matches!(source.fill(&mut cx, 1 << 20, &mut out), Poll::Ready(Ok(false))));
                assert_eq!(decoded_so_far(target.coding, &out).len(), pieces * target.piece(), "{target:?}");
            }
        }
    }

    #[test]
    fn slow_qualities_are_encoded_by_other_threads() {
        let text = text(300_000);
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
        for target in
            [Target { coding: Coding::Brotli, quality: 9 }, Target { coding: Coding::Zstd, quality: 19 }]
        {
            let steps = vec![bytes(&text[..5]), Step::Pause, bytes(&text[5..])];
            let mut source = encoded(target, steps, None);
            let packed = runtime.block_on(async {
                let mut out = Vec::new();
                while !std::future::poll_fn(|cx| source.fill(cx, 10_000, &mut out)).await.expect("content") {}
                out
            });
            assert!(decoded(target.coding, &packed) == text, "{target:?}");
        }
    }

    #[test]
    fn an_error_of_the_content_ends_it_and_stays() {
        for target in FAST {
            let mut source =
                encoded(target, vec![bytes(b"half"), Step::Pause, bytes(b"of"), Step::Fail], None);
            let mut cx = Context::from_waker(Waker::noop());
            let mut out = Vec::new();
            let error = loop {
                match source.fill(&mut cx, 1 << 20, &mut out) {
                    Poll::Ready(Err(error)) => break error,
                    Poll::Ready(Ok(ended)) => assert!(!ended),
                    Poll::Pending => {}
                }
            };
            assert_eq!(error.to_string(), "the upstream is gone");
            assert!(matches!(source.fill(&mut cx, 1 << 20, &mut out), Poll::Ready(Err(_))));
        }
    }

    #[test]
    fn what_waits_between_source_and_client_is_bounded() {
        let text = text(4 << 20);
        for target in FAST {
            let mut source = encoded(target, vec![bytes(&text)], None);
            let (mut cx, mut out) = (Context::from_waker(Waker::noop()), Vec::new());
            loop {
                let filled = source.fill(&mut cx, 1000, &mut out);
                assert!(source.input.capacity() <= PIECE, "{}", source.input.capacity());
                assert!(source.ready.capacity() <= 2 * PIECE, "{}", source.ready.capacity());
                if matches!(filled, Poll::Ready(Ok(true))) {
                    break;
                }
            }
            assert!(decoded(target.coding, &out) == text);
        }
    }

    #[test]
    fn what_is_not_asked_for_is_not_encoded() {
        assert!(matches!(encoded(FAST[0], vec![Step::Fail], None).state, State::Open(None)));
    }

    #[test]
    fn what_waits_for_the_client_holds_no_more_than_its_bytes_and_no_encoder_behind_the_end() {
        let text = text(PIECE / 2);
        for target in FAST {
            let memory = Reservation::new(target);
            assert!(memory.is_some());
            let mut source = Encoded::new(Content::from(text.clone()), target, memory);
            let (mut out, mut cx) = (Vec::new(), Context::from_waker(Waker::noop()));
            assert!(matches!(source.fill(&mut cx, 16, &mut out), Poll::Ready(Ok(false))));
            assert!(matches!(source.state, State::Ended) && source.memory.is_none());
            let left = source.ready.len() - source.handed_on;
            assert!(left > 1000 && source.ready.capacity() < 2 * left + 32, "{target:?} {left}");
            assert_eq!(source.input.capacity(), 0);
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]
        #[test]
        fn any_content_in_any_pieces_comes_back(
            pieces in prop::collection::vec((prop::option::of(0..3_u8), 0..30_000_usize, any::<u8>()), 0..8),
            room in 1..20_000_usize,
            which in 0..3_usize,
        ) {
            let mut steps = Vec::new();
            let mut whole = Vec::new();
            for (kind, len, seed) in pieces {
                let piece = match kind {
                    None => { steps.push(Step::Pause); continue }
                    Some(0) => vec![seed; len],
                    Some(1) => text(len),
                    Some(_) => (0..len).map(|at| (at as u32).wrapping_mul(2_654_435_761 + u32::from(seed)).to_be_bytes()[0]).collect(),
                };
                whole.extend_from_slice(&piece);
                steps.push(Step::Bytes(piece));
            }
            let (packed, _) = drain(&mut encoded(FAST[which], steps, None), room);
            prop_assert!(decoded(FAST[which].coding, &packed) == whole);
        }
    }
}
