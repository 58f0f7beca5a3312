//! Every rule that an application can break.

use std::fmt;

macro_rules! faults {
    ($($(#[$doc:meta])* $name:ident $text:literal,)*) => {
        /// A rule that an application broke; the connection cannot be used again. Sections without a document
        /// are those of the FastCGI 1.0 specification.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Fault {
            $($(#[$doc])* $name,)*
        }

        impl Fault {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$name,)*];

            fn text(self) -> &'static str {
                match self { $(Self::$name => $text,)* }
            }
        }
    };
}

faults! {
    /// §3.3
    Version "the application does not speak FastCGI version 1",
    /// §3.3
    RequestId "a record belongs to a request that was never made",
    /// §8
    UnexpectedRecord "a record has a type that only web servers send",
    /// §3.3
    Unsolicited "the application sent a response to no request",
    /// §5.5
    EndSize "the END_REQUEST record is not eight bytes long",
    /// §5.5
    CannotMultiplex "the application accepts one request at a time, and has another one",
    /// §5.5: the application reports that it is overloaded.
    Overloaded "the application is overloaded",
    /// §5.5
    UnknownRole "the application does not implement the Responder role",
    /// §5.5
    ProtocolStatus "the application ended the request with an unknown protocol status",
    /// §5.3
    OutputAfterEnd "content follows the end of the output",
    /// Limits.
    TooMuchOverhead "the application sends error messages or padding without end",
    /// RFC 3875 §6.2
    EndsBeforeHead "the application ended the request before the response's head was complete",
    /// RFC 3875 §6.2
    EmptyHead "the response's head has no fields",
    /// Limits.
    HeadTooLarge "the response's head is longer than the limit",
    /// Limits.
    TooManyFields "the response's head has more field lines than the limit",
    /// RFC 3875 §6.3
    MissingColon "a line of the response's head has no colon",
    /// RFC 3875 §6.3
    FieldName "a field name of the response is empty or not a token",
    /// RFC 9110 §5.5
    FieldValue "a field value of the response has a control character",
    /// RFC 3875 §6.3.3
    MalformedStatus "the response's Status field is not a status from 200 to 999",
    /// RFC 3875 §6.3
    RepeatedStatus "the response's Status field is repeated",
    /// RFC 9110 §8.6
    MalformedLength "the response's Content-Length field is not a decimal number of 64 bits",
    /// RFC 9110 §8.6
    RepeatedLength "the response's Content-Length field is repeated",
    /// Limits.
    ContentTooLarge "the response's content is longer than the limit",
    /// RFC 9110 §8.6
    LongerThanAnnounced "the response's content is longer than its Content-Length says",
    /// RFC 9110 §8.6
    ShorterThanAnnounced "the response's content is shorter than its Content-Length says",
    /// §6.2
    ClosedEarly "the application closed the connection before the response was complete",
}

impl Fault {
    /// Whether the application is running but overloaded.
    pub fn is_overload(self) -> bool {
        matches!(self, Self::Overloaded | Self::CannotMultiplex)
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}

impl std::error::Error for Fault {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fault_has_a_sentence_of_its_own() {
        let mut sentences: Vec<_> = Fault::ALL.iter().map(Fault::to_string).collect();
        sentences.sort();
        sentences.dedup();
        assert_eq!(sentences.len(), Fault::ALL.len());
    }
}
