// SPDX-License-Identifier: Apache-2.0
//
// own_device.cpp - a device of torch's kind PrivateUse1, in memory of the host that nobody may touch
//
// Its memory is mapped twice: where tensors show it nothing may be read or written, so that whoever takes an address of the device for one of
// his own dies; the operators, which are the CPU's, work through the other mapping. There is one stream, in whose order all is done at once
// but for copies to pinned memory: these come late, by a thread of their own, and events pass behind them.
//
// OWN_DEVICE_LACKS=aten::sort,... : the device has no such operators of integers of 64 bits.
#include <ATen/EmptyTensor.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <ATen/native/CPUFallback.h>
#include <ATen/ops/as_strided_cpu_dispatch.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/set_cpu_dispatch.h>
#include <ATen/ops/unfold_cpu_dispatch.h>
#include <ATen/ops/view_cpu_dispatch.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <sys/mman.h>
#include <torch/library.h>
#include <unistd.h>

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <set>
#include <thread>

namespace {

constexpr auto OWN = c10::DeviceType::PrivateUse1;
const c10::Device THE_DEVICE(OWN, 0);

// ---- memory ----

constexpr size_t ROOM = size_t(8) << 30; // of addresses; pages that are used take memory
constexpr size_t LINE = 64;

struct Memory {
    char *shown, *real;
    size_t end = 0;
    std::mutex lock;
    std::map<size_t, std::vector<size_t>> given_back; // by size: where
    std::map<char *, size_t> sizes;
    std::set<void *> pinned;

    Memory()
    {
        const int file = memfd_create("own_device", 0);

        TORCH_CHECK(file >= 0 && ftruncate(file, ROOM) == 0, "no memory for a device");
        shown = static_cast<char *>(mmap(nullptr, ROOM, PROT_NONE, MAP_SHARED, file, 0));
        real = static_cast<char *>(mmap(nullptr, ROOM, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0));
        TORCH_CHECK(shown != MAP_FAILED && real != MAP_FAILED, "no memory for a device");
        close(file);
    }

    char *take(size_t asked)
    {
        const size_t size = (asked + LINE - 1) / LINE * LINE;
        std::lock_guard<std::mutex> held(lock);
        auto &free = given_back[size];
        size_t at = end;

        if (free.empty()) {
            TORCH_CHECK(size <= ROOM - end, "the device's memory is full");
            end += size;
        } else {
            at = free.back();
            free.pop_back();
        }
        sizes[shown + at] = size;
        return shown + at;
    }

    void give(char *at)
    {
        std::lock_guard<std::mutex> held(lock);

        given_back[sizes.at(at)].push_back(static_cast<size_t>(at - shown));
        sizes.erase(at);
    }
};

Memory &memory()
{
    static auto *const one = new Memory; // tensors may outlive all else
    return *one;
}

struct Allocator final : c10::Allocator {
    static void free(void *at)
    {
        if (at)
            memory().give(static_cast<char *>(at));
    }

    c10::DataPtr allocate(size_t n) override
    {
        void *at = n ? memory().take(n) : nullptr;
        return {at, at, &Allocator::free, THE_DEVICE};
    }

    c10::DeleterFnPtr raw_deleter() const override
    {
        return &Allocator::free;
    }

    void copy_data(void *to, const void *from, size_t n) const override
    {
        const auto delta = memory().real - memory().shown;
        memcpy(static_cast<char *>(to) + delta, static_cast<const char *>(from) + delta, n);
    }
};

struct Pinned final : c10::Allocator {
    static void free(void *at)
    {
        std::lock_guard<std::mutex> held(memory().lock);
        memory().pinned.erase(at);
        ::free(at);
    }

    c10::DataPtr allocate(size_t n) override
    {
        void *at = aligned_alloc(LINE, (n + LINE) / LINE * LINE);
        std::lock_guard<std::mutex> held(memory().lock);
        memory().pinned.insert(at);
        return {at, at, &Pinned::free, c10::Device(c10::DeviceType::CPU)};
    }

    c10::DeleterFnPtr raw_deleter() const override
    {
        return &Pinned::free;
    }

    void copy_data(void *to, const void *from, size_t n) const override
    {
        memcpy(to, from, n);
    }
};

Allocator allocator;
Pinned pinned;

// ---- the stream: what comes late ----

struct Stream {
    std::mutex lock;
    std::condition_variable work, done;
    std::deque<std::function<void()>> tasks;
    uint64_t n_put = 0, n_done = 0;
    unsigned n_waits = 0, n_early = 0;

    Stream()
    {
        std::thread([this] { run(); }).detach();
    }

    void run()
    {
        std::unique_lock<std::mutex> held(lock);
        for (;;) {
            work.wait(held, [this] { return !tasks.empty(); });
            auto task = std::move(tasks.front());
            tasks.pop_front();
            held.unlock();
            usleep(n_done % 3 ? 200 : 2000);
            task();
            task = nullptr;
            held.lock();
            n_done++;
            done.notify_all();
        }
    }

    void put(std::function<void()> task)
    {
        std::lock_guard<std::mutex> held(lock);
        tasks.push_back(std::move(task));
        n_put++;
        work.notify_one();
    }
};

Stream &stream()
{
    static auto *const one = new Stream;
    return *one;
}

// ---- what torch asks of a device ----

struct Guard final : c10::impl::DeviceGuardImplInterface {
    c10::DeviceType type() const override { return OWN; }
    c10::Device exchangeDevice(c10::Device) const override { return THE_DEVICE; }
    c10::Device getDevice() const override { return THE_DEVICE; }
    void setDevice(c10::Device) const override {}
    void uncheckedSetDevice(c10::Device) const noexcept override {}
    c10::Stream getStream(c10::Device) const override { return c10::Stream(c10::Stream::DEFAULT, THE_DEVICE); }
    c10::Stream exchangeStream(c10::Stream) const override { return c10::Stream(c10::Stream::DEFAULT, THE_DEVICE); }
    c10::DeviceIndex deviceCount() const noexcept override { return 1; }
    // Of autograd, which knows one stream here.
    void record(void **event, const c10::Stream &, const c10::DeviceIndex, const c10::EventFlag) const override
    {
        *event = const_cast<Guard *>(this);
    }
    void block(void *, const c10::Stream &) const override {}
    bool queryEvent(void *) const override { return true; }
    void destroyEvent(void *, const c10::DeviceIndex) const noexcept override {}
    void synchronizeDevice(const c10::DeviceIndex) const override {}
};

struct Hooks final : at::PrivateUse1HooksInterface {
    bool isBuilt() const override { return true; }
    bool isAvailable() const override { return true; }
    bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
    c10::DeviceIndex deviceCount() const override { return 1; }
    c10::DeviceIndex getCurrentDevice() const override { return 0; }
    c10::Allocator *getPinnedMemoryAllocator() const override { return &pinned; }
    bool isPinnedPtr(const void *at) const override
    {
        std::lock_guard<std::mutex> held(memory().lock);
        return memory().pinned.count(const_cast<void *>(at));
    }
    void resizePrivateUse1Bytes(const c10::Storage &storage, size_t size) const override
    {
        auto *const s = storage.unsafeGetStorageImpl();
        auto fresh = allocator.allocate(size);

        allocator.copy_data(fresh.get(), s->data(), std::min(size, s->nbytes()));
        s->set_data_ptr_noswap(std::move(fresh));
        s->set_nbytes(size);
    }
};

Guard guard;
Hooks hooks;

// ---- operators ----

// The same elements for operators of the CPU.
at::Tensor here(const at::Tensor &tensor)
{
    if (!tensor.is_privateuseone())
        return tensor;
    char *const at = static_cast<char *>(tensor.storage().mutable_data()) + tensor.storage_offset() * tensor.itemsize();
    return at::from_blob(tensor.numel() ? at - memory().shown + memory().real : nullptr, tensor.sizes(), tensor.strides(),
                         tensor.options().device(c10::DeviceType::CPU));
}

at::Tensor copy_from(const at::Tensor &self, const at::Tensor &to, bool non_blocking)
{
    if (non_blocking && self.is_privateuseone() && to.is_cpu() && hooks.isPinnedPtr(to.storage().data())) {
        auto bytes = here(self).contiguous().clone(); // what is written to it later comes later
        stream().put([bytes, to] { memcpy(to.mutable_data_ptr(), bytes.const_data_ptr(), bytes.nbytes()); });
    } else {
        here(to).copy_(here(self));
    }
    return to;
}

at::Tensor copy_from_and_resize(const at::Tensor &self, const at::Tensor &to)
{
    if (to.sizes() != self.sizes())
        to.resize_(self.sizes());
    here(to).copy_(here(self));
    return to;
}

c10::Scalar local_scalar_dense(const at::Tensor &self)
{
    return here(self).item();
}

constexpr c10::DispatchKeySet KEYS(c10::DispatchKey::PrivateUse1);

at::Tensor empty(c10::IntArrayRef size, std::optional<at::ScalarType> dtype, std::optional<at::Layout>, std::optional<at::Device>,
                 std::optional<bool>, std::optional<at::MemoryFormat> format)
{
    return at::detail::empty_generic(size, &allocator, KEYS, c10::dtype_or_default(dtype), format);
}

at::Tensor empty_strided(c10::IntArrayRef size, c10::IntArrayRef stride, std::optional<at::ScalarType> dtype, std::optional<at::Layout>,
                         std::optional<at::Device>, std::optional<bool>)
{
    return at::detail::empty_strided_generic(size, stride, &allocator, KEYS, c10::dtype_or_default(dtype));
}

const at::Tensor &resize(const at::Tensor &self, c10::SymIntArrayRef size, std::optional<at::MemoryFormat>)
{
    const auto sizes = C10_AS_INTARRAYREF_SLOW(size);
    auto *const t = self.unsafeGetTensorImpl();

    if (sizes == self.sizes())
        return self;
    t->set_sizes_contiguous(sizes);
    const size_t bytes = (t->storage_offset() + t->numel()) * t->itemsize();
    if (bytes > t->storage().nbytes())
        hooks.resizePrivateUse1Bytes(t->storage(), bytes);
    return self;
}

at::Tensor reshape_alias(const at::Tensor &self, c10::IntArrayRef size, c10::IntArrayRef stride)
{
    return at::cpu::as_strided(self, size, stride);
}

at::Tensor as_strided(const at::Tensor &self, c10::IntArrayRef size, c10::IntArrayRef stride, std::optional<int64_t> offset)
{
    return at::cpu::as_strided(self, size, stride, offset);
}

at::Tensor view(const at::Tensor &self, c10::IntArrayRef size)
{
    return at::cpu::view(self, size);
}

at::Tensor unfold(const at::Tensor &self, int64_t dimension, int64_t size, int64_t step)
{
    return at::cpu::unfold(self, dimension, size, step);
}

at::Tensor &set_storage(at::Tensor &self, c10::Storage source, int64_t offset, c10::IntArrayRef size, c10::IntArrayRef stride)
{
    return at::cpu::set_(self, source, offset, size, stride);
}

at::Tensor &set_source(at::Tensor &self, const at::Tensor &source)
{
    return at::cpu::set_(self, source.storage(), source.storage_offset(), source.sizes(), source.strides());
}

bool is_lacking(const c10::OperatorHandle &op, const torch::jit::Stack &stack)
{
    static const char *const set = getenv("OWN_DEVICE_LACKS");
    static const std::string lacks = std::string(",") + (set ? set : "") + ",";

    if (!set || lacks.find("," + op.schema().name() + ",") == std::string::npos)
        return false;
    for (const auto &value : torch::jit::last(stack, op.schema().arguments().size()))
        if (value.isTensor() && value.toTensor().defined() && value.toTensor().scalar_type() == at::kLong)
            return true;
    return false;
}

void fallback(const c10::OperatorHandle &op, torch::jit::Stack *stack)
{
    TORCH_CHECK_NOT_IMPLEMENTED(!is_lacking(op, *stack), op.schema().name(), " is not there for integers of 64 bits");
    at::native::cpu_fallback(op, stack);
}

} // namespace

C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard);

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m)
{
    m.impl("empty.memory_format", empty);
    m.impl("empty_strided", empty_strided);
    m.impl("_copy_from", copy_from);
    m.impl("_copy_from_and_resize", copy_from_and_resize);
    m.impl("_local_scalar_dense", local_scalar_dense);
    m.impl("resize_", resize);
    m.impl("_reshape_alias", reshape_alias);
    m.impl("as_strided", as_strided);
    m.impl("view", view);
    m.impl("unfold", unfold);
    m.impl("set_.source_Storage_storage_offset", set_storage);
    m.impl("set_.source_Tensor", set_source);
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, m)
{
    m.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback>());
}

// ---- for own_device.py ----

extern "C" void own_device_begin(void)
{
    at::RegisterPrivateUse1HooksInterface(&hooks);
    c10::SetAllocator(OWN, &allocator);
}

// An event is the number of what has to be done before it passes.
extern "C" uint64_t own_device_record(void)
{
    std::lock_guard<std::mutex> held(stream().lock);
    return stream().n_put;
}

extern "C" bool own_device_query(uint64_t event)
{
    std::lock_guard<std::mutex> held(stream().lock);
    stream().n_early += stream().n_done < event;
    return stream().n_done >= event;
}

extern "C" void own_device_wait(uint64_t event)
{
    std::unique_lock<std::mutex> held(stream().lock);
    stream().n_waits++;
    stream().done.wait(held, [event] { return stream().n_done >= event; });
}

extern "C" unsigned own_device_waits(void)
{
    return stream().n_waits;
}

extern "C" unsigned own_device_early(void)
{
    return stream().n_early;
}
