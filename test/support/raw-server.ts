import { type AddressInfo, createServer, type Socket } from 'node:net';

/** A server that answers every request head with a given text, and remembers the heads. */
export async function serve(answer: (socket: Socket, count: number) => void) {
  const heads: string[] = [];
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    sockets.push(socket);
    socket.on('error', () => {});
    socket.on('data', (bytes) => {
      heads.push(bytes.toString('latin1'));
      answer(socket, heads.length);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    heads,
    sockets,
    origin: { protocol: 'http:', host: '127.0.0.1', port: (server.address() as AddressInfo).port } as const,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

/** The head of a plain answer to a range request of this size. */
export function plainHead(size: number): string {
  return `HTTP/1.1 206 Partial Content\r\nContent-Length: ${size}\r\nX-Other: y\r\n\r\n`;
}
