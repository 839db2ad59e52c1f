import type { ErrorCode } from '../../core/error-codes.ts';
import { HoldfastError } from '../../core/errors.ts';
import { excerpt, printable } from '../../core/printable.ts';
import type { ObjectStore } from './backend.ts';
import { RequestFailure } from './failure.ts';

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
  hint: 'The file here is as it was sealed: something on the way, or the store, changes bytes. The copy does not count as shipped.',
};
const SKEWED: Meaning = { code: 'CLOCK_SKEWED', hint: 'Set the clock of this machine (NTP, chrony).' };

/** What the stores' own words mean for a person. */
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
  RequestTimeTooSkewed: SKEWED,
  RequestExpired: SKEWED,
};

/** Makes an error with a way out of a request that failed for good. `doing` continues "cannot". Anything else passes through. */
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
  if (status === 403) return DENIED;
  if (reason === 'SERVICE')
    return { code: 'CREDENTIALS_REFUSED', hint: 'The service that hands out credentials did not. Check the role and the token.' };
  if (/CERT|TLS|SSL|SELF_SIGNED|UNABLE_TO_|EPROTO/.test(reason)) {
    return {
      code: 'REMOTE_UNAVAILABLE',
      hint: 'For a certificate authority of your own set AWS_CA_BUNDLE or NODE_EXTRA_CA_CERTS to its file.',
    };
  }
  if (reason === 'PROXY_REFUSED' || status === 407) {
    return { code: 'REMOTE_UNAVAILABLE', hint: 'The proxy does not let this pass: check HTTPS_PROXY, its user and NO_PROXY.' };
  }
  if (status === 0 || isTransient) {
    return {
      code: 'REMOTE_UNAVAILABLE',
      hint: 'Run the same command again: it goes on where it was. Check the endpoint and the proxy settings.',
    };
  }
  return {
    code: 'REMOTE_INVALID',
    hint: 'The store does not accept what Holdfast asks. Is this an endpoint of the kind that the address names?',
  };
}

/** Something lies where only Holdfast writes. */
export function notOurs({ url }: Pick<ObjectStore, 'url'>, key: string): HoldfastError {
  return new HoldfastError('REMOTE_INVALID', {
    message: `${printable(url)}/${key} is not what Holdfast writes there`,
    hint: 'Another program, or a newer version of Holdfast, made it. Use another prefix.',
  });
}

/** Others were faster again and again. */
export function contended({ url }: Pick<ObjectStore, 'url'>, what: string): HoldfastError {
  return new HoldfastError('REMOTE_UNAVAILABLE', {
    message: `${what} of ${printable(url)} was changed by others again and again`,
    hint: 'What was sent stays. Run the same command again.',
  });
}
