import { createHash, timingSafeEqual } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { HoldfastError } from '../../core/errors.ts';
import { RequestError } from './request-error.ts';

/** The role of a token: workers lease and commit, owners may do everything. */
export type Role = 'worker' | 'owner';

/** The tokens of each role. Without any token, every client is an owner. */
export interface Access {
  readonly ownerToken: string | null;
  readonly workerToken: string | null;
}

const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])(:\d+)?$/i;

/** The role of a request; refuses one without a known token. */
export function roleOf(request: IncomingMessage, { ownerToken, workerToken }: Access): Role {
  if (ownerToken === null && workerToken === null) {
    // Without a token the server serves only loopback, and no web page may reach it through another
    // host name.
    if (!LOOPBACK.test(request.headers.host ?? '')) throw new RequestError(403, 'without a token only requests to localhost are answered');
    return 'owner';
  }
  const given = /^Bearer (.+)$/i.exec(request.headers.authorization ?? '')?.[1] ?? '';
  if (ownerToken !== null && isSame(given, ownerToken)) return 'owner';
  if (workerToken !== null && isSame(given, workerToken)) return 'worker';
  throw new HoldfastError('QUEUE_TOKEN_REFUSED', {
    message: given === '' ? 'the server wants a token' : 'the server does not know this token',
    hint: 'Give --token-file, or set HOLDFAST_QUEUE_TOKEN_FILE.',
  });
}

/** Refuses a request that only an owner may make. */
export function requireOwner(role: Role): void {
  if (role === 'owner') return;
  throw new HoldfastError('QUEUE_TOKEN_REFUSED', { message: 'this is the token of a worker; only an owner may do that' });
}

/** Compares in constant time. */
function isSame(given: string, known: string): boolean {
  const hash = (text: string): Buffer => createHash('sha256').update(text).digest();
  return timingSafeEqual(hash(given), hash(known));
}
