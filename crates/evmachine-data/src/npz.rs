//! Archives of `NumPy` arrays.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::PathBuf;

use flate2::Crc;
use flate2::read::DeflateDecoder;
use zip::{CompressionMethod, ZipArchive};

use crate::columns::{closest, listing};
use crate::error::DataError;
use crate::foreign;
use crate::format::Format;
use crate::labels::LabelStream;
use crate::npy::{Data, open_matrix};
use crate::npy_header::{ArrayName, NpyHeader};
use crate::npy_type::NumberKind;
use crate::options::{ColumnRef, ReadOptions};
use crate::reader::Opened;
use crate::source::{Bytes, Source};

/// The names a feature matrix usually has, likeliest first.
const USUAL_NAMES: [&str; 6] = ["X", "x", "features", "embeddings", "data", "arr_0"];

/// No stream of DEFLATE grows by more than this.
const EXPANSION: u64 = 1032;

/// Opens an archive: the features are one of its matrices, labels and ids one-dimensional arrays.
pub(crate) fn open(source: &Source, options: &ReadOptions) -> Result<Opened, DataError> {
    let archive = Archive::open(source)?;
    let (features, columns) = archive.choose(options)?;
    let (name, mut bytes, length) = archive.read(features)?;
    let header = NpyHeader::read(&name, &mut bytes, Some(length))?;
    let data = Data::new(&name, &header, bytes)?;
    let by_name = |column: &Option<ColumnRef>| match column {
        Some(ColumnRef::Name(name)) => Some(name.clone()),
        _ => None,
    };
    if let Some(kept @ ColumnRef::Name(_)) =
        options.kept.iter().find(|kept| matches!(kept, ColumnRef::Name(_)))
    {
        return Err(DataError::UnsuitableOption {
            file: source.file.clone(),
            option: format!("the column {kept}"),
            format: Format::Npz,
            advice: "Name a column of the matrix by its number, or use a format with columns".to_owned(),
        });
    }
    let (label, id) = (by_name(&options.label), by_name(&options.id));
    let inner = ReadOptions {
        label: options.label.clone().filter(|_| label.is_none()),
        id: options.id.clone().filter(|_| id.is_none()),
        features: columns,
        ..options.clone()
    };
    let mut opened = open_matrix(name, &header, data, &inner, Format::Npz)?;
    if let Some(label) = label {
        let stream = archive.stream(&label)?;
        opened = opened.with_labels(label, stream)?;
    }
    if let Some(id) = id {
        let stream = archive.stream(&id)?;
        opened = opened.with_ids(id, stream)?;
    }
    Ok(opened)
}

/// An array in an archive and where its bytes are.
struct Member {
    name: String,
    start: u64,
    compressed: u64,
    length: u64,
    checksum: u32,
    deflated: bool,
}

struct Archive {
    file: String,
    path: PathBuf,
    members: Vec<Member>,
}

impl Archive {
    fn open(source: &Source) -> Result<Self, DataError> {
        let file = source.file.clone();
        let Some(path) = source.path.clone().filter(|_| !source.compressed) else {
            return Err(DataError::NotStreamable { file, format: Format::Npz });
        };
        let opened = File::open(&path).map_err(|error| DataError::opening(&file, error))?;
        let damaged = |error: zip::result::ZipError| match error {
            zip::result::ZipError::Io(error) => DataError::reading(&file, error),
            other => DataError::Damaged { file: file.clone(), detail: other.to_string() },
        };
        let mut archive = ZipArchive::new(BufReader::new(opened)).map_err(damaged)?;
        let (mut members, mut others) = (Vec::new(), Vec::new());
        for index in 0..archive.len() {
            let entry = archive.by_index_raw(index).map_err(damaged)?;
            let name = entry.name().map_err(damaged)?.into_owned();
            let Some(name) = name.strip_suffix(".npy").map(str::to_owned) else {
                others.push(name);
                continue;
            };
            let deflated = match entry.compression() {
                CompressionMethod::Stored => false,
                CompressionMethod::Deflated => true,
                other => {
                    let name = ArrayName { file, member: Some(name) };
                    return Err(
                        name.unsuitable(format!("is compressed by {other:?}"), "Save it with numpy.savez")
                    );
                }
            };
            let Some(start) = entry.data_start() else { continue };
            if deflated && entry.size() > entry.compressed_size().saturating_add(64).saturating_mul(EXPANSION)
            {
                let detail = format!("the array `{name}` claims a length of {} bytes", entry.size());
                return Err(DataError::Damaged { file, detail });
            }
            members.push(Member {
                name,
                start,
                compressed: entry.compressed_size(),
                length: entry.size(),
                checksum: entry.crc32(),
                deflated,
            });
        }
        if members.is_empty() {
            return Err(foreign::archive(&file, &others).unwrap_or(DataError::UnsuitableArray {
                file,
                array: "the archive".to_owned(),
                detail: "holds no NPY arrays".to_owned(),
                advice: "Save the features with numpy.savez".to_owned(),
            }));
        }
        Ok(Self { file, path, members })
    }

    /// Finds the matrix of features, and which of its columns are asked for.
    fn choose(&self, options: &ReadOptions) -> Result<(&Member, Vec<ColumnRef>), DataError> {
        if let [ColumnRef::Name(name), columns @ ..] = options.features.as_slice() {
            return Ok((self.find(name)?, columns.to_vec()));
        }
        let columns = options.features.clone();
        let taken = |name: &str| {
            [&options.label, &options.id]
                .into_iter()
                .flatten()
                .any(|column| matches!(column, ColumnRef::Name(other) if other == name))
        };
        let usual = USUAL_NAMES
            .iter()
            .find_map(|usual| self.members.iter().find(|member| member.name == *usual && !taken(usual)));
        if let Some(member) = usual {
            return Ok((member, columns));
        }
        let mut matrices = Vec::new();
        for member in self.members.iter().filter(|member| !taken(&member.name)) {
            let (name, mut bytes, length) = self.read(member)?;
            let header = NpyHeader::read(&name, &mut bytes, Some(length));
            if header.is_ok_and(|header| header.shape.len() == 2 && header.element.kind == NumberKind::Float)
            {
                matrices.push(member);
            }
        }
        match matrices.as_slice() {
            [single] => Ok((single, columns)),
            _ => Err(DataError::NoMatrix {
                file: self.file.clone(),
                matrices: matrices.len(),
                known: self.listing(),
            }),
        }
    }

    fn find(&self, name: &str) -> Result<&Member, DataError> {
        self.members.iter().find(|member| member.name == name).ok_or_else(|| DataError::UnknownColumn {
            file: self.file.clone(),
            column: format!("`{name}`"),
            known: self.listing(),
            closest: closest(name, &self.names()),
        })
    }

    fn names(&self) -> Vec<String> {
        self.members.iter().map(|member| member.name.clone()).collect()
    }

    fn listing(&self) -> String {
        listing("its arrays are", &self.names())
    }

    fn stream(&self, name: &str) -> Result<LabelStream, DataError> {
        let (name, bytes, length) = self.read(self.find(name)?)?;
        LabelStream::from_array(&self.file, name, bytes, Some(length))
    }

    /// The bytes of an array, its name, and how many there are. Each array is read through a handle of
    /// its own, so that several can be read at once.
    fn read(&self, member: &Member) -> Result<(ArrayName, Bytes, u64), DataError> {
        let mut file = File::open(&self.path).map_err(|error| DataError::opening(&self.file, error))?;
        file.seek(SeekFrom::Start(member.start)).map_err(|error| DataError::reading(&self.file, error))?;
        let stored = BufReader::with_capacity(1 << 17, file).take(member.compressed);
        let bytes: Bytes = if member.deflated {
            Box::new(Checked::new(DeflateDecoder::new(stored), member))
        } else {
            Box::new(Checked::new(stored, member))
        };
        Ok((ArrayName { file: self.file.clone(), member: Some(member.name.clone()) }, bytes, member.length))
    }
}

/// Compares the checksum of what was read with the one in the archive.
struct Checked<R> {
    bytes: R,
    sum: Crc,
    left: u64,
    expected: u32,
}

impl<R: Read> Checked<R> {
    fn new(bytes: R, member: &Member) -> Self {
        Self { bytes, sum: Crc::new(), left: member.length, expected: member.checksum }
    }
}

impl<R: Read> Read for Checked<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let room = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        if room == 0 {
            return Ok(0);
        }
        let count = self.bytes.read(&mut buffer[..room])?;
        self.sum.update(&buffer[..count]);
        self.left -= count as u64;
        if self.left == 0 && self.sum.sum() != self.expected {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                "a checksum in the archive does not match",
            ));
        }
        Ok(count)
    }
}
