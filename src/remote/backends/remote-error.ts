import type { ErrorCode } from '../../core/error-codes.ts';
import { HoldfastError } from '../../core/errors.ts';
import { excerpt, printable } from '../../core/printable.ts';
import type { ObjectStore } from './backend.ts';
import { RequestFailure, TOO_LONG } from '../transfer/failure.ts';

interface Meaning {
  readonly code: ErrorCode;
  readonly hint: string;
}

const REFUSED: Meaning = {
  code: 'CREDENTIALS_REFUSED',
  hint: 'Check which credentials apply here (the environment wins over files and roles) and renew them.',
};
const DENIED: Meaning = {
  code: 'REMOTE_ACCESS_DENIED',
  hint: 'holdfast explain REMOTE_ACCESS_DENIED lists the permissions that are needed.',
};
const NO_BUCKET: Meaning = {
  code: 'BUCKET_NOT_FOUND',
  hint: 'Check its name, the endpoint and the region. Holdfast never makes buckets.',
};
const DAMAGED: Meaning = {
  code: 'CHECKSUM_MISMATCH',
  hint: 'The local file matches its seal: the store, or a proxy on the way, changes bytes. The copy does not count as shipped.',
};
const SKEWED: Meaning = { code: 'CLOCK_SKEWED', hint: 'Set the clock of this machine (NTP, chrony).' };

/** A lifecycle rule has archived the object. This copy cannot be read, but an older one may be. */
const ARCHIVED: Meaning = {
  code: 'REMOTE_INVALID',
  hint: 'A lifecycle rule has moved it to an archive. Restore the object first, or exclude the newest checkpoints from the rule.',
};
/** What a store's error codes mean for the user. */
const MEANINGS: Readonly<Record<string, Meaning>> = {
  NoSuchBucket: NO_BUCKET,
  InvalidBucketName: NO_BUCKET,
  InvalidAccessKeyId: REFUSED,
  SignatureDoesNotMatch: REFUSED,
  ExpiredToken: REFUSED,
  InvalidToken: REFUSED,
  TokenRefreshRequired: REFUSED,
  XAmzSecurityTokenInvalid: REFUSED,
  AuthorizationHeaderMalformed: REFUSED,
  AccessDenied: DENIED,
  AllAccessDisabled: DENIED,
  AccountProblem: DENIED,
  BadDigest: DAMAGED,
  InvalidDigest: DAMAGED,
  XAmzContentChecksumMismatch: DAMAGED,
  CHECKSUM: DAMAGED,
  InvalidObjectState: ARCHIVED,
  RequestTimeTooSkewed: SKEWED,
  RequestExpired: SKEWED,
};

/**
 * Turns a request that failed for good into an error with a hint. `doing` continues "cannot".
 * Passes any other error through.
 */
export function remoteError(thrown: unknown, doing: string, place: string): unknown {
  if (!(thrown instanceof RequestFailure)) return thrown;
  const { status, reason, message, tries } = thrown;
  const meaning = MEANINGS[reason] ?? meaningOfStatus(thrown);
  return new HoldfastError(meaning.code, {
    message: `cannot ${doing} ${printable(place)}: ${excerpt(describe(status, reason, message), 300)}${tries > 1 ? ` (tried ${tries} times)` : ''}`,
    hint: meaning.hint,
    cause: thrown,
  });
}

function describe(status: number, reason: string, message: string): string {
  return status === 0 || message.includes(reason) ? message : `${reason}: ${message}`;
}

function meaningOfStatus({ status, reason, isTransient }: RequestFailure): Meaning {
  if (status === 401) return REFUSED;
  if (reason === 'ERR_INVALID_CHAR') {
    return { code: 'CREDENTIALS_REFUSED', hint: 'A credential has a character that no header can carry, such as a line break. Remove it.' };
  }
  if (status === 403) return DENIED;
  if (reason === 'SERVICE')
    return { code: 'CREDENTIALS_REFUSED', hint: 'The credentials service returned no credentials. Check the role and the token.' };
  if (/CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO_|EPROTO/.test(reason)) {
    return {
      code: 'REMOTE_UNAVAILABLE',
      hint: 'For your own certificate authority, set AWS_CA_BUNDLE or NODE_EXTRA_CA_CERTS to its file.',
    };
  }
  if (reason === 'PROXY_REFUSED' || status === 407) {
    return { code: 'REMOTE_UNAVAILABLE', hint: 'The proxy does not let this pass: check HTTPS_PROXY, its user and NO_PROXY.' };
  }
  if (status === 0 || isTransient) {
    return {
      code: 'REMOTE_UNAVAILABLE',
      hint: 'Run the same command again: it continues where it stopped. Check the endpoint and the proxy settings.',
    };
  }
  return {
    code: 'REMOTE_INVALID',
    hint: 'The store does not accept the request of Holdfast. Is this an endpoint of the kind that the address names?',
  };
}

/** The error for a foreign object where only Holdfast writes. */
export function notOurs({ url }: Pick<ObjectStore, 'url'>, key: string): HoldfastError {
  return new HoldfastError('REMOTE_INVALID', {
    message: `${printable(url)}/${key} does not have the content that Holdfast writes there`,
    hint: 'Another program, or a newer version of Holdfast, made it. Use another prefix.',
  });
}

/** Whether a read failed because the object is longer than the reader accepts. */
export function isTooLong(thrown: unknown): boolean {
  if (!(thrown instanceof HoldfastError) || thrown.code !== 'REMOTE_INVALID') return false;
  // A folder of copies has no requests, and refuses an object only for its length.
  return !(thrown.cause instanceof RequestFailure) || thrown.cause.reason === TOO_LONG;
}

/** The error after other processes were faster again and again. */
export function contended({ url }: Pick<ObjectStore, 'url'>, what: string): HoldfastError {
  return new HoldfastError('REMOTE_UNAVAILABLE', {
    message: `${what} of ${printable(url)} was changed by other writers on every try`,
    hint: 'The uploaded parts are kept. Run the same command again.',
  });
}
