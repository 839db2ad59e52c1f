/**
 * The runtime's own HTTP. Imported like any module it would load all that goes by its name, the client for browsers' sockets and its parsers included:
 * forty milliseconds of processor time before the first byte is asked for.
 */
export const http = process.getBuiltinModule('node:http');
export const https = process.getBuiltinModule('node:https');
