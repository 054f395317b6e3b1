//! Model files.

use evmachine::{Edit, Evm, Features, Run};
use xxhash_rust::xxh3::xxh3_64;

/// What stands before the checksum's digits in the header.
const CHECKSUM_MARK: &[u8] = br#"{\"checksum\":\""#;
const CHECKSUM_DIGITS: usize = 16;

/// The most dimensions a query is made for.
const LARGEST_QUERY: usize = 1 << 16;

/// Loads a model. One that loads must answer a query, and come back the same from its own bytes; so must what an edit makes
/// of it.
///
/// # Panics
///
/// When it does not.
pub fn load(bytes: &[u8]) {
    let Ok(evm) = Evm::from_bytes(bytes) else { return };
    let written = evm.to_bytes().expect("a model that was loaded can be written");
    let again = Evm::from_bytes(&written).expect("a model that was written can be loaded");
    assert_eq!(again, evm);
    assert_eq!(again.to_bytes().expect("and written again"), written);
    let dimensions = evm.dimensions();
    if dimensions <= LARGEST_QUERY {
        let query = Features::new(vec![1.0; dimensions], dimensions).expect("ones are finite");
        assert_eq!(evm.decide(&query).expect("ones can be compared with anything").len(), 1);
        // Forged numbers may make an edit or an explanation an error, and nothing worse.
        let carrier = evm.doubt(&query).map_or(0, |doubts| doubts[0].because.source);
        if let Ok((edited, _)) = evm.edited_with(&Run::new(), &Edit::SetAside { rows: vec![carrier] }) {
            let written = edited.to_bytes().expect("an edited model can be written");
            assert_eq!(Evm::from_bytes(&written).expect("and loaded"), edited);
        }
    }
}

/// A model file from a header and tensors with a zero byte between them: the length of the header is put before
/// it, and the checksum is made right.
pub fn repaired(input: &[u8]) -> Vec<u8> {
    let end = input.iter().position(|&byte| byte == 0).unwrap_or(input.len());
    let (header, tensors) = (&input[..end], input.get(end + 1..).unwrap_or_default());
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend(header);
    let mark = bytes.windows(CHECKSUM_MARK.len()).position(|window| window == CHECKSUM_MARK);
    let digits = mark.map(|mark| mark + CHECKSUM_MARK.len()..mark + CHECKSUM_MARK.len() + CHECKSUM_DIGITS);
    let digits = digits.filter(|digits| digits.end <= bytes.len());
    bytes.extend(tensors);
    if let Some(digits) = digits {
        bytes[digits.clone()].fill(b'0');
        let checksum = format!("{:016x}", xxh3_64(&bytes));
        bytes[digits].copy_from_slice(checksum.as_bytes());
    }
    bytes
}

/// The header and the tensors of a model file with a zero byte between them, which [`repaired`] takes.
///
/// # Panics
///
/// When `bytes` are no model file.
pub fn parts(bytes: &[u8]) -> Vec<u8> {
    let (length, rest) = bytes.split_first_chunk().expect("a length");
    let length = usize::try_from(u64::from_le_bytes(*length)).expect("a length of bytes in memory");
    let (header, tensors) = rest.split_at(length);
    [header, &[0], tensors].concat()
}
