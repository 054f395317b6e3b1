//! A device with its kernels, and the engines that work on it: memory, launches, products.
#![allow(unsafe_code)]

use std::ffi::c_int;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError};

use cudarc::cublas::{self, CudaBlas};
use cudarc::driver::sys::CUdevice_attribute as Attribute;
use cudarc::driver::{
    CudaContext, CudaEvent, CudaSlice, CudaStream, DevicePtr, DeviceRepr, DriverError, LaunchConfig,
    ValidAsZeroBits,
};
use cudarc::nvrtc::{CompileOptions, compile_ptx_with_opts};
use evmachine_engine::device::{DeviceError, Source};

use crate::address::Address;
use crate::error::{Failure, OpenError};
use crate::kernels::{Kernel, Kernels, SOURCES};
use crate::library;
use crate::memory::Pool;
use crate::models::Models;
use crate::staging::Staging;

/// Of what is free, the share that a call may take: the driver and cuBLAS need room of their own.
const SHARE: f64 = 0.9;

/// What is opened once.
pub(crate) struct Opened {
    pub(crate) name: String,
    context: Arc<CudaContext>,
    kernels: Kernels,
    pub(crate) processors: u32,
    pub(crate) models: Models,
}

/// What one call works with.
pub(crate) struct Engine {
    opened: Arc<Opened>,
    stream: Arc<CudaStream>,
    /// Results come back on it while the other one goes on.
    results: Arc<CudaStream>,
    blas: CudaBlas,
    staging: Mutex<Option<Staging>>,
}

impl Deref for Engine {
    type Target = Opened;

    fn deref(&self) -> &Opened {
        &self.opened
    }
}

/// Blocks, threads of a block, bytes that the threads of a block share.
pub(crate) type Shape = ((u32, u32), (u32, u32), u32);

/// How many digits a product has.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Digits {
    /// Those of the numbers.
    All,
    /// Factors are cut to ten bits after the point (TF32), sums are `f32`.
    Few,
}

/// A part of a product: rows times columns, written row by row, `stride` values apart.
#[derive(Clone, Copy)]
pub(crate) struct Tile {
    pub(crate) rows: (Address<f32>, usize),
    pub(crate) columns: (Address<f32>, usize),
    pub(crate) out: Address<f32>,
    pub(crate) stride: usize,
}

impl Opened {
    pub(crate) fn new(number: usize) -> Result<Self, OpenError> {
        library::find()?;
        let count = library::count();
        if number >= count {
            return Err(OpenError::NoDevice { number, count });
        }
        let refused = |reason: String| OpenError::Refused { number, reason };
        let driver = |error: DriverError| refused(error.to_string());
        let context = CudaContext::new(number).map_err(driver)?;
        // SAFETY: the memory of a call is used on one stream, so that no use can overtake another; what another one reads, it reads
        // behind an event, and models are complete before another call sees them.
        unsafe { context.disable_event_tracking() };
        let (major, minor) = context.compute_capability().map_err(driver)?;
        let options = CompileOptions {
            options: vec![format!("--gpu-architecture=compute_{major}{minor}"), "--std=c++17".to_owned()],
            ..CompileOptions::default()
        };
        let compiled =
            compile_ptx_with_opts(SOURCES.concat(), options).map_err(|error| refused(error.to_string()))?;
        let module = context.load_module(compiled).map_err(driver)?;
        let kernels = Kernels::load(&module).map_err(driver)?;
        let processors = context
            .attribute(Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
            .map_err(driver)?
            .unsigned_abs();
        let name = format!("{} (cuda:{number})", context.name().map_err(driver)?);
        Pool::of(&context).keep().map_err(driver)?;
        Ok(Self { name, context, kernels, processors, models: Models::default() })
    }

    pub(crate) fn release(&self) -> Result<(), Failure> {
        Ok(Pool::of(&self.context).release()?)
    }

    /// A failure as others see it.
    pub(crate) fn explain(&self, failure: Failure) -> DeviceError {
        match failure.of(&self.name) {
            DeviceError::Memory { device, wanted, .. } => {
                // What is kept for the next call may be what another program lacks.
                let _ = Pool::of(&self.context).release();
                let free = self.context.mem_get_info().map_or(0, |(free, _)| free as u64);
                DeviceError::Memory { device, wanted, free }
            }
            error => error,
        }
    }
}

impl Engine {
    pub(crate) fn new(opened: &Arc<Opened>) -> Result<Self, Failure> {
        let stream = opened.context.new_stream()?;
        let results = opened.context.new_stream()?;
        let blas = CudaBlas::new(stream.clone())?;
        Ok(Self { opened: opened.clone(), stream, results, blas, staging: Mutex::default() })
    }

    /// Waits for all that was started.
    pub(crate) fn finish(&self) -> Result<(), Failure> {
        Ok(self.stream.synchronize()?)
    }

    /// Bytes that a call may still take.
    pub(crate) fn memory(&self) -> Result<usize, Failure> {
        self.stream.synchronize()?;
        let (free, _) = self.context.mem_get_info()?;
        let spare = Pool::of(&self.context).spare()?;
        Ok(((free + spare) as f64 * SHARE) as usize)
    }

    /// Room for values, which are whatever they were.
    pub(crate) fn room<T: DeviceRepr>(&self, count: usize) -> Result<CudaSlice<T>, Failure> {
        // SAFETY: the types of this crate are numbers, and whoever reads has written before.
        let room = unsafe { self.stream.alloc(count.max(1)) };
        room.map_err(|_| Failure::Memory { wanted: (count * size_of::<T>()) as u64 })
    }

    pub(crate) fn zeros(&self, count: usize) -> Result<CudaSlice<u32>, Failure> {
        let mut room = self.room::<u32>(count)?;
        self.clear(&mut room)?;
        Ok(room)
    }

    /// Writes zeros over all values.
    pub(crate) fn clear<T: DeviceRepr + ValidAsZeroBits>(
        &self,
        room: &mut CudaSlice<T>,
    ) -> Result<(), Failure> {
        Ok(self.stream.memset_zeros(room)?)
    }

    /// Values, one part after the other, on the device.
    pub(crate) fn upload<T: DeviceRepr + Clone>(&self, parts: &[&[T]]) -> Result<CudaSlice<T>, Failure> {
        let total = parts.iter().map(|part| part.len()).sum();
        let mut room = self.room::<T>(total)?;
        let mut first = 0;
        for part in parts.iter().filter(|part| !part.is_empty()) {
            self.stream.memcpy_htod(*part, &mut room.slice_mut(first..first + part.len()))?;
            first += part.len();
        }
        Ok(room)
    }

    /// Vectors of several sources, one after the other, on the device.
    pub(crate) fn upload_vectors(
        &self,
        sources: &[&dyn Source],
        dimensions: usize,
    ) -> Result<CudaSlice<f32>, Failure> {
        let total: usize = sources.iter().map(|source| source.count()).sum();
        let mut room = self.room::<f32>(total * dimensions)?;
        let mut first = 0;
        for source in sources.iter().filter(|source| source.count() > 0) {
            let length = source.count() * dimensions;
            self.upload_to(*source, dimensions, &mut room, first)?;
            first += length;
        }
        Ok(room)
    }

    /// The vectors of a source, written from the value at `first` on.
    pub(crate) fn upload_to(
        &self,
        source: &dyn Source,
        dimensions: usize,
        room: &mut CudaSlice<f32>,
        first: usize,
    ) -> Result<(), Failure> {
        let length = source.count() * dimensions;
        if size_of::<f32>() * length < Staging::LEAST || dimensions > Staging::BUFFER {
            let values = source.to_vec(dimensions);
            self.stream.memcpy_htod(&values, &mut room.slice_mut(first..first + length))?;
            return Ok(());
        }
        self.staged(|staging| staging.upload(&self.stream, source, dimensions, self.address(room, first)))
    }

    /// The values from `first` on into the memory of the processor, as many as there is room for.
    pub(crate) fn download_to(
        &self,
        from: &CudaSlice<f32>,
        first: usize,
        out: &mut [f32],
    ) -> Result<(), Failure> {
        let from = from.slice(first..first + out.len());
        if size_of_val(out) < Staging::LEAST {
            self.stream.memcpy_dtoh(&from, out)?;
            return self.finish();
        }
        let address = from.device_ptr(&self.stream).0;
        // SAFETY: `f32` takes any bits, and bytes lie anywhere, so that the middle is all there is.
        let (_, bytes, _) = unsafe { out.align_to_mut::<u8>() };
        // SAFETY: the slice on the device is as long.
        self.staged(|staging| unsafe { staging.download(&self.stream, address, bytes) })
    }

    /// Works with the two buffers of large arrays, made when they are needed first.
    fn staged<T>(&self, work: impl FnOnce(&mut Staging) -> Result<T, Failure>) -> Result<T, Failure> {
        let mut staging = self.staging.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *staging {
            Some(staging) => work(staging),
            none => work(none.insert(Staging::new(&self.context)?)),
        }
    }

    /// An event behind all that was started.
    pub(crate) fn mark(&self) -> Result<CudaEvent, Failure> {
        Ok(self.stream.record_event(None)?)
    }

    /// As [`download`](Self::download), of what was there at the event, while what was started since goes on.
    pub(crate) fn fetch<T: DeviceRepr + Clone + Default>(
        &self,
        from: &CudaSlice<T>,
        count: usize,
        event: &CudaEvent,
    ) -> Result<Vec<T>, Failure> {
        let mut values = vec![T::default(); count];
        if count > 0 {
            self.results.wait(event)?;
            self.results.memcpy_dtoh(&from.slice(..count), &mut values)?;
            self.results.synchronize()?;
        }
        Ok(values)
    }

    /// The first values of `from`, in the memory of the processor.
    pub(crate) fn download<T: DeviceRepr + Clone + Default>(
        &self,
        from: &CudaSlice<T>,
        count: usize,
    ) -> Result<Vec<T>, Failure> {
        let mut values = vec![T::default(); count];
        if count > 0 {
            self.stream.memcpy_dtoh(&from.slice(..count), &mut values)?;
            self.stream.synchronize()?;
        }
        Ok(values)
    }

    /// Where a value lies.
    pub(crate) fn address<T>(&self, slice: &CudaSlice<T>, at: usize) -> Address<T> {
        Address::new(slice.device_ptr(&self.stream).0).after(at)
    }

    /// As [`address`](Self::address), none where there are no values.
    pub(crate) fn address_of_any<T>(&self, slice: Option<&CudaSlice<T>>, at: usize) -> Address<T> {
        slice.map_or(Address::none(), |slice| self.address(slice, at))
    }

    /// Starts a kernel.
    ///
    /// # Safety
    ///
    /// What the arguments point to is as long as the kernel takes it to be, and none only where it can do without.
    pub(crate) unsafe fn launch<K: Kernel>(
        &self,
        (blocks, threads, shared): Shape,
        kernel: &K,
    ) -> Result<(), Failure> {
        if blocks.0 == 0 || blocks.1 == 0 {
            return Ok(());
        }
        let mut builder = self.stream.launch_builder(K::function(&self.kernels));
        kernel.push(&mut builder);
        let shape = LaunchConfig {
            grid_dim: (blocks.0, blocks.1, 1),
            block_dim: (threads.0, threads.1, 1),
            shared_mem_bytes: shared,
        };
        // SAFETY: arguments are of the kernel's types and in its order, as its declaration is; the rest the caller promises.
        unsafe { builder.launch(shape) }?;
        Ok(())
    }

    /// Products of rows and columns of so many dimensions.
    ///
    /// # Safety
    ///
    /// The addresses of the tile are of memory as long as it says.
    pub(crate) unsafe fn product(
        &self,
        tile: &Tile,
        dimensions: usize,
        digits: Digits,
    ) -> Result<(), Failure> {
        let (columns, rows) = (Extent::new("columns", tile.columns.1), Extent::new("rows", tile.rows.1));
        // cuBLAS counts down columns where we count along rows: its first factor is our columns, transposed.
        let left = Matrix { at: tile.columns.0, stride: dimensions, is_transposed: true };
        let right = Matrix { at: tile.rows.0, stride: dimensions, is_transposed: false };
        let sizes = (columns, rows, Extent::new("dimensions", dimensions));
        // SAFETY: the matrices are as large as the caller promises.
        unsafe { self.multiply(sizes, left, right, (tile.out, tile.stride), (false, digits)) }
    }

    /// The product of two matrices, columns and rows being those of the result, which is added to what is there if `adds`.
    ///
    /// # Safety
    ///
    /// The matrices are as large as the sizes and their strides say.
    pub(crate) unsafe fn multiply<T: Number>(
        &self,
        (rows, columns, between): (Extent, Extent, Extent),
        left: Matrix<T>,
        right: Matrix<T>,
        (out, out_stride): (Address<T>, usize),
        (adds, digits): (bool, Digits),
    ) -> Result<(), Failure> {
        use cublas::sys::{cublasGemmAlgo_t as Algorithm, cublasOperation_t as Operation};
        let (one, start) = (T::from(1u8), T::from(u8::from(adds)));
        let operation = |matrix: &Matrix<T>| {
            if matrix.is_transposed { Operation::CUBLAS_OP_T } else { Operation::CUBLAS_OP_N }
        };
        let stride = |size| whole("values from one to the next", size);
        // SAFETY: factors are of the type that is named, and as large as the caller promises.
        unsafe {
            cublas::result::gemm_ex(
                *self.blas.handle(),
                operation(&left),
                operation(&right),
                rows.whole()?,
                columns.whole()?,
                between.whole()?,
                (&raw const one).cast(),
                left.at.number() as *const _,
                T::TYPE,
                stride(left.stride)?,
                right.at.number() as *const _,
                T::TYPE,
                stride(right.stride)?,
                (&raw const start).cast(),
                out.number() as *mut _,
                T::TYPE,
                stride(out_stride)?,
                T::compute(digits),
                Algorithm::CUBLAS_GEMM_DEFAULT,
            )
        }?;
        Ok(())
    }
}

/// A matrix as cuBLAS reads it: column after column, `stride` values apart.
#[derive(Clone, Copy)]
pub(crate) struct Matrix<T> {
    pub(crate) at: Address<T>,
    pub(crate) stride: usize,
    pub(crate) is_transposed: bool,
}

/// A size of a product, and what it counts.
#[derive(Clone, Copy)]
pub(crate) struct Extent {
    what: &'static str,
    size: usize,
}

impl Extent {
    pub(crate) fn new(what: &'static str, size: usize) -> Self {
        Self { what, size }
    }

    fn whole(self) -> Result<c_int, Failure> {
        whole(self.what, self.size)
    }
}

/// What products are made of.
pub(crate) trait Number: Copy + From<u8> {
    const TYPE: cublas::sys::cudaDataType;

    fn compute(digits: Digits) -> cublas::sys::cublasComputeType_t;
}

impl Number for f32 {
    const TYPE: cublas::sys::cudaDataType = cublas::sys::cudaDataType::CUDA_R_32F;

    fn compute(digits: Digits) -> cublas::sys::cublasComputeType_t {
        match digits {
            Digits::All => cublas::sys::cublasComputeType_t::CUBLAS_COMPUTE_32F,
            Digits::Few => cublas::sys::cublasComputeType_t::CUBLAS_COMPUTE_32F_FAST_TF32,
        }
    }
}

impl Number for f64 {
    const TYPE: cublas::sys::cudaDataType = cublas::sys::cudaDataType::CUDA_R_64F;

    fn compute(_: Digits) -> cublas::sys::cublasComputeType_t {
        cublas::sys::cublasComputeType_t::CUBLAS_COMPUTE_64F
    }
}

/// A size as cuBLAS counts it.
fn whole(what: &'static str, size: usize) -> Result<c_int, Failure> {
    c_int::try_from(size).map_err(|_| Failure::TooLarge { what, size })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_size_beyond_what_products_count_says_which_it_is() {
        assert!(matches!(whole("rows", 2_147_483_647), Ok(c_int::MAX)));
        let failure = whole("rows", 2_147_483_648).expect_err("one too many");
        assert_eq!(
            failure.of("device").to_string(),
            "device failed: a product of 2147483648 rows is too large for cuBLAS, which counts to 2147483647; use the processor \
             (device cpu)"
        );
    }
}
