//! The protobuf wire format: numbers and lengths as varints, everything else as bytes.

/// A message under construction.
#[derive(Debug, Default)]
pub(crate) struct Message(Vec<u8>);

const VARINT: u64 = 0;
const BYTES: u64 = 2;

impl Message {
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    fn varint(&mut self, mut value: u64) {
        while value >= 0x80 {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    pub(crate) fn integer(&mut self, field: u64, value: u64) {
        self.varint(field << 3 | VARINT);
        self.varint(value);
    }

    pub(crate) fn bytes(&mut self, field: u64, value: &[u8]) {
        self.varint(field << 3 | BYTES);
        self.varint(value.len() as u64);
        self.0.extend_from_slice(value);
    }

    pub(crate) fn text(&mut self, field: u64, value: &str) {
        self.bytes(field, value.as_bytes());
    }

    pub(crate) fn message(&mut self, field: u64, value: &Message) {
        self.bytes(field, &value.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_specification() {
        // Field 1 with 150 is 08 96 01; field 2 with "testing" is 12 07 and the letters.
        let mut message = Message::default();
        message.integer(1, 150);
        message.text(2, "testing");
        assert_eq!(message.into_bytes(), b"\x08\x96\x01\x12\x07testing");
    }
}
