/**
 * The runtime's own HTTP. An import would also load the WebSocket client and its parsers: forty
 * milliseconds of processor time before the first request.
 */
export const http = process.getBuiltinModule('node:http');
/** The runtime's own HTTPS, loaded like {@link http}. */
export const https = process.getBuiltinModule('node:https');
