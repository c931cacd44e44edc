/* mock_aten.h - just enough of ATen's types for generated C++ to be type-checked.
 *
 * Nothing here runs: what is implicit in ATen is implicit here, and what ATen refuses
 * (a SymInt for an int, a list of ints for one of SymInts, ...) does not compile. */
#pragma once
#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

namespace c10
{

using string_view = std::string_view;

struct SymInt {
    SymInt();
    SymInt(int64_t);
    int64_t guard_int(const char *file, int64_t line) const;
    bool is_symbolic() const;
};
SymInt operator*(const SymInt &, const SymInt &);
SymInt operator+(const SymInt &, const SymInt &);
SymInt &operator+=(SymInt &, const SymInt &);
struct SymBool {
};

template <typename T> struct ArrayRef {
    ArrayRef();
    ArrayRef(const T &);
    ArrayRef(const std::vector<T> &);
    ArrayRef(const std::initializer_list<T> &);
    std::vector<T> vec() const;
    const T *begin() const;
    const T *end() const;
    size_t size() const;
    const T &operator[](size_t) const;
};
using IntArrayRef = ArrayRef<int64_t>;
using SymIntArrayRef = ArrayRef<SymInt>;

template <typename T> struct OptionalArrayRef {
    OptionalArrayRef();
    OptionalArrayRef(std::nullopt_t);
    OptionalArrayRef(const ArrayRef<T> &);
    OptionalArrayRef(const std::optional<ArrayRef<T>> &);
    OptionalArrayRef(const std::optional<std::vector<T>> &);
    bool has_value() const;
    const ArrayRef<T> &operator*() const;
    const ArrayRef<T> *operator->() const;
};

IntArrayRef asIntArrayRefSlow(SymIntArrayRef, const char *, int64_t);
SymIntArrayRef fromIntArrayRefSlow(IntArrayRef);
#define C10_AS_INTARRAYREF_SLOW(a) c10::asIntArrayRefSlow(a, __FILE__, __LINE__)

template <typename T> struct List {
    List();
    void push_back(T);
    const T *begin() const;
    const T *end() const;
};

enum class ScalarType { Float, Long };
enum class Layout { Strided };
enum class MemoryFormat { Contiguous };
enum class QScheme { None };
using DeviceIndex = int8_t;
struct Device {
};
struct Storage {
};
struct Stream {
};
struct TypeMeta {
};
std::optional<ScalarType> optTypeMetaToScalarType(std::optional<TypeMeta>);

struct Scalar {
    Scalar();
    template <typename T, typename = std::enable_if_t<std::is_arithmetic_v<T>>> Scalar(T);
    template <typename T> T to() const;
};

struct TensorOptions {
    TensorOptions();
    TensorOptions(ScalarType);
    TensorOptions dtype(std::optional<ScalarType>) const;
    TensorOptions layout(std::optional<Layout>) const;
    TensorOptions device(std::optional<Device>) const;
    TensorOptions pinned_memory(std::optional<bool>) const;
    std::optional<TypeMeta> dtype_opt() const;
    std::optional<Layout> layout_opt() const;
    std::optional<Device> device_opt() const;
    std::optional<bool> pinned_memory_opt() const;
};

namespace impl
{
std::optional<MemoryFormat> check_tensor_options_and_extract_memory_format(const TensorOptions &,
                                                                           std::optional<MemoryFormat>);
}

struct IValue {
    template <typename T> T to() const;
    template <typename T> std::optional<T> toOptional() const;
    List<IValue> toList() const;
};
using Stack = std::vector<IValue>;

} // namespace c10

namespace at
{

using c10::ArrayRef;
using c10::Device;
using c10::DeviceIndex;
using c10::IntArrayRef;
using c10::Layout;
using c10::MemoryFormat;
using c10::QScheme;
using c10::Scalar;
using c10::ScalarType;
using c10::Storage;
using c10::Stream;
using c10::TensorOptions;
using OptionalIntArrayRef = c10::OptionalArrayRef<int64_t>;
using OptionalSymIntArrayRef = c10::OptionalArrayRef<c10::SymInt>;
constexpr ScalarType kLong = ScalarType::Long;
namespace Reduction
{
constexpr int64_t Mean = 1;
}

struct Generator {
};
struct DimVector {
};
struct Tensor {
    bool defined() const;
    ScalarType scalar_type() const;
    Layout layout() const;
    Device device() const;
};
using TensorList = ArrayRef<Tensor>;

struct OptionalTensorRef {
    OptionalTensorRef();
    OptionalTensorRef(const Tensor &);
    OptionalTensorRef(const std::optional<Tensor> &);
};
struct OptionalScalarRef {
    OptionalScalarRef();
    OptionalScalarRef(const Scalar *);
    OptionalScalarRef(const std::optional<Scalar> &);
    bool has_value() const;
    operator const Scalar &() const;
};
struct ITensorListRef {
    ITensorListRef(TensorList);
    ITensorListRef(const std::vector<Tensor> &);
};
struct IOptTensorListRef {
    IOptTensorListRef(const c10::List<std::optional<Tensor>> &);
};

namespace functionalization
{
enum class InverseReturnMode { NeverView };
}

} // namespace at

c10::IValue &peek(c10::Stack &, size_t i, size_t n);
template <typename T, size_t N> std::array<T, N> as_array(const c10::List<c10::IValue> &);
