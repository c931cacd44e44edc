# DispatchKeyFunctions.h
inline_headers:
${inline_headers}
