import { connect, createServer, type Server, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';

/**
 * A proxy between workers and a server that may move. It cuts connections, and always leads to the
 * server's present address.
 */
export class TcpProxy implements AsyncDisposable {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  target: string;

  private constructor(target: string) {
    this.target = target;
    this.#server = createServer((socket) => this.#accept(socket));
  }

  static async start(target: string): Promise<TcpProxy> {
    const proxy = new TcpProxy(target);
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get connections(): number {
    return this.#sockets.size / 2;
  }

  /** Cuts the open connections and loses the data in transit. */
  cut(): void {
    for (const socket of this.#sockets) socket.resetAndDestroy();
  }

  #accept(socket: Socket): void {
    const { hostname, port } = new URL(this.target);
    const beyond = connect(Number(port), hostname);
    for (const [one, other] of [
      [socket, beyond],
      [beyond, socket],
    ] as const) {
      this.#sockets.add(one);
      one.on('error', () => {});
      one.on('close', () => {
        this.#sockets.delete(one);
        other.destroy();
      });
      one.pipe(other);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.cut();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
