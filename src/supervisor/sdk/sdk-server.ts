import { createServer, type Server, type Socket } from 'node:net';
import { once } from 'node:events';
import { HoldfastError, systemCode } from '../../core/errors.ts';
import { descriptorLimit } from '../../core/descriptor-limit.ts';
import { printable } from '../../core/printable.ts';
import { LineSplitter } from './line-splitter.ts';
import { formatMessage, type FromRank, MAX_LINE_BYTES, parseMessage, type ToRank } from './protocol.ts';

/** One rank that is connected. */
export interface Rank {
  readonly rank: number;
  readonly world: number;
  readonly pid: number;
  /**
   * The signal on which this process writes the stacks of its threads to its standard error; null:
   * none.
   */
  readonly dumpSignal: number | null;
  send(message: ToRank): void;
}

type Said = Exclude<FromRank, { readonly type: 'hello' | 'unknown' }>;

/** Gets the events of the socket. */
export interface SdkListener {
  /** A rank has sent its hello. */
  onRank(rank: Rank): void;
  onMessage(rank: Rank, message: Said): void;
  /** The connection of a rank has ended, for whatever reason. */
  onGone(rank: Rank): void;
  /** Reports a problem for people; a peer that sends invalid messages costs one line. */
  onComplaint(text: string): void;
  /** Reports an internal error that occurred while a message was handled. */
  onDefect(thrown: unknown): void;
}

const MOST_PEERS = 4096;

/**
 * How many peers may be connected at once: at most half of the descriptors. So a trainer that leaks
 * connections leaves enough for saves, the ledger and uploads.
 */
function mostPeers(descriptors: number): number {
  return Math.max(1, Math.min(MOST_PEERS, Math.floor(descriptors / 2)));
}

/**
 * The most bytes that may wait for a peer that does not read; beyond that the peer counts as dead.
 */
const MAX_WAITING_BYTES = 1024 * 1024;

/**
 * The supervisor's end of the socket. It treats every peer as hostile. A line that is too long or
 * invalid ends that connection and nothing else.
 */
export class SdkServer {
  readonly #server: Server;
  readonly #listener: SdkListener;
  readonly #sockets = new Set<Socket>();
  #hasComplained = false;

  private constructor(listener: SdkListener) {
    this.#listener = listener;
    this.#server = createServer((socket) => this.#accept(socket));
    const most = mostPeers(descriptorLimit());
    this.#server.maxConnections = most;
    this.#server.on('drop', () => this.#complain(`the trainer holds ${most} connections to the socket of the SDK; more are refused`));
  }

  static async listen(path: string, listener: SdkListener): Promise<SdkServer> {
    const sdk = new SdkServer(listener);
    sdk.#server.listen(path);
    try {
      await once(sdk.#server, 'listening');
    } catch (thrown) {
      throw new HoldfastError('SOCKET_FAILED', {
        message: `cannot listen on ${printable(path)}: ${systemCode(thrown) ?? String(thrown)}`,
        hint: 'Set TMPDIR to a folder on a local file system that can be written.',
        cause: thrown,
      });
    }
    sdk.#server.on('error', (error) => sdk.#complain(`the socket of the SDK failed: ${error.message}`));
    return sdk;
  }

  /** Ends every connection and stops listening. */
  close(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }

  #accept(socket: Socket): void {
    this.#sockets.add(socket);
    const lines = new LineSplitter(MAX_LINE_BYTES);
    const peer = new Peer(socket);
    // A reset is followed by 'close', which is handled.
    socket.on('error', () => {});
    // Handles the end of the messages before the socket is closed, so that a process started in its
    // place does not find it still here.
    socket.on('end', () => this.#leave(peer));
    socket.on('close', () => {
      this.#sockets.delete(socket);
      this.#leave(peer);
    });
    socket.on('data', (piece) => {
      const complete = lines.push(piece);
      if (complete === null) this.#drop(peer, `sent a line of more than ${MAX_LINE_BYTES} bytes`);
      else for (const line of complete) if (!socket.destroyed) this.#guarded(() => this.#take(peer, line));
    });
  }

  #leave(peer: Peer): void {
    const { rank } = peer;
    if (rank === null || peer.hasLeft) return;
    peer.hasLeft = true;
    this.#guarded(() => this.#listener.onGone(rank));
  }

  /**
   * Runs a handler so that our mistakes do not kill the trainer: an error is reported, and the next
   * message is handled.
   */
  #guarded(handle: () => void): void {
    try {
      handle();
    } catch (thrown) {
      this.#listener.onDefect(thrown);
    }
  }

  #take(peer: Peer, line: string): void {
    const message = parseMessage(line);
    if (!message.ok) return this.#drop(peer, `sent a message that ${message.reason}`);
    const said = message.value;
    if (said.type === 'unknown') return this.#complain(`ignored a message of an unknown type "${said.name}" from the trainer`);
    if (said.type === 'hello') {
      if (peer.rank !== null) return this.#drop(peer, 'said hello twice');
      return this.#listener.onRank(peer.greet(said));
    }
    if (peer.rank === null) return this.#drop(peer, 'did not say hello first');
    this.#listener.onMessage(peer.rank, said);
  }

  #drop(peer: Peer, what: string): void {
    this.#complain(`a peer on the socket of the SDK ${what}, and was disconnected; training goes on`);
    peer.socket.destroy();
  }

  /** Reports this once: a peer that sends invalid messages in a loop must not fill the log. */
  #complain(text: string): void {
    if (this.#hasComplained) return;
    this.#hasComplained = true;
    this.#listener.onComplaint(text);
  }
}

class Peer {
  readonly socket: Socket;
  rank: Rank | null = null;
  hasLeft = false;

  constructor(socket: Socket) {
    this.socket = socket;
  }

  greet({ rank, world, pid, dumpSignal }: Extract<FromRank, { readonly type: 'hello' }>): Rank {
    const { socket } = this;
    const send = (message: ToRank): void => {
      if (socket.destroyed) return;
      socket.write(formatMessage(message));
      if (socket.writableLength > MAX_WAITING_BYTES) socket.destroy();
    };
    this.rank = { rank, world, pid, dumpSignal, send };
    return this.rank;
  }
}
