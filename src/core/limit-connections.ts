import type { Server } from 'node:http';
import type { Socket } from 'node:net';
import type { Clock } from './clock.ts';

/** How many connections a server keeps, and when it may close an idle one. */
export interface ConnectionLimits {
  /** From this many on, a connection that has been idle for `idleMs` makes room for a new one. */
  readonly crowd: number;
  /** The most connections at any time: the longest idle one is closed at once. */
  readonly most: number;
  readonly idleMs: number;
}

/**
 * Keeps the connections of a server few. It closes idle connections in favour of new ones, and
 * refuses a new one only where all others wait for an answer. A limit that refuses first would let
 * silent connections starve the health check.
 */
export function limitConnections(server: Server, clock: Clock, limits: ConnectionLimits): void {
  const all = new Set<Socket>();
  // A map keeps its order: the one that has been idle longest comes first.
  const idleSinceMs = new Map<Socket, number>();
  const forget = (socket: Socket): void => {
    all.delete(socket);
    idleSinceMs.delete(socket);
  };
  const makeRoom = ({ crowd, most, idleMs }: ConnectionLimits): void => {
    const nowMs = clock.monotonic();
    for (const [socket, sinceMs] of idleSinceMs) {
      if (all.size < crowd || (all.size < most && nowMs - sinceMs < idleMs)) return;
      forget(socket);
      socket.destroy();
    }
  };
  server.on('connection', (socket) => {
    makeRoom(limits);
    if (all.size >= limits.most) return void socket.destroy();
    all.add(socket);
    idleSinceMs.set(socket, clock.monotonic());
    socket.once('close', () => forget(socket));
  });
  server.on('request', ({ socket }, response) => {
    idleSinceMs.delete(socket);
    response.once('close', () => {
      if (all.has(socket)) idleSinceMs.set(socket, clock.monotonic());
    });
  });
}
