import { EXIT } from './exit-codes.ts';

/**
 * Errors of object stores, for uploads and downloads of checkpoints. Part of the one table in
 * `error-codes.ts`.
 */
export const REMOTE_ERROR_CODES = {
  CREDENTIALS_MISSING: {
    exit: EXIT.noInput,
    title: 'No credentials for the object store were found',
    explain:
      'Holdfast looks for credentials where the cloud’s own tools look. AWS: the environment, a web identity (IRSA), single sign-on, the shared files and profiles, the container endpoint, the instance metadata. Google: GOOGLE_APPLICATION_CREDENTIALS, the file of `gcloud auth application-default login`, the metadata server. None of these had credentials, or one had only a part of them; the message says which. Nothing was sent.',
  },
  CREDENTIALS_REFUSED: {
    exit: EXIT.noInput,
    title: 'The object store does not accept the credentials',
    explain:
      'The key is unknown, the signature does not match its secret, or a temporary credential has expired. Check which credentials Holdfast finds first: the environment wins over files and roles. Then renew them. Secrets are never printed.',
  },
  REMOTE_ACCESS_DENIED: {
    exit: EXIT.noInput,
    title: 'The object store refuses access',
    explain:
      'The store knows the credentials but does not allow this request. Shipping needs to read, write and list objects below the prefix, and to list and abort multipart uploads. On S3 these are GetObject, PutObject, ListBucket, AbortMultipartUpload, ListBucketMultipartUploads and ListMultipartUploadParts. On Google it is the role Storage Object User. Fetching needs to read and list. A bucket policy, a missing permission for the encryption key or a network condition can also refuse.',
  },
  BUCKET_NOT_FOUND: {
    exit: EXIT.noInput,
    title: 'The bucket does not exist',
    explain:
      'This endpoint has no bucket of that name; it may belong to another provider. Holdfast never creates buckets. Check the spelling, the endpoint and the region.',
  },
  CLOCK_SKEWED: {
    exit: EXIT.no,
    title: 'The clock of this machine is wrong',
    explain:
      'Every request is signed with the current time. The store refused ours because that time is too far from its own. Holdfast retried with the time that the store reported, without success. Set the clock (NTP, chrony). Checkpoints are not affected: none of them depends on a clock.',
  },
  CHECKSUM_MISMATCH: {
    exit: EXIT.no,
    title: 'The copy differs from the sealed checkpoint',
    explain:
      'The object store holds or sent bytes whose crc32c differs from the one in the manifest, and retries did not help. The copy does not count as shipped, and Holdfast put none of it in place. Possible causes: a proxy on the way, a fault of the store, another writer to the same prefix.',
  },
  SOURCE_CHANGED: {
    exit: EXIT.no,
    title: 'The checkpoint has changed since it was sealed',
    explain:
      'A local file no longer matches its checksums in the manifest: it was changed, cut or damaged after the seal. Holdfast did not ship it. `holdfast verify --deep` reports what is wrong; `holdfast resume` finds the last good checkpoint.',
  },
  REMOTE_CONFLICT: {
    exit: EXIT.no,
    title: 'The remote prefix already holds something else',
    explain:
      'The prefix belongs to another run, or nothing proves which run owns it. Or another checkpoint has this name there, and a newer attempt of the run ships to the prefix. In the last case this attempt is stale. Holdfast never replaces a copy. Give every run its own prefix, and run one attempt of it at a time. `holdfast run` exits with 65.',
  },
  REMOTE_NOT_FOUND: {
    exit: EXIT.noInput,
    title: 'There is no shipped checkpoint at that address',
    explain:
      'Holdfast found neither a pointer to the last good checkpoint nor the manifest of the checkpoint that was named. A copy without a manifest was never finished and does not count. Check the prefix.',
  },
  REMOTE_INVALID: {
    exit: EXIT.no,
    title: 'The object store returned something that Holdfast cannot read',
    explain:
      'The remote manifest or pointer is damaged, too large, of a newer version, or names files outside its folder. Or the answer did not come from an object store. Nothing was written. `holdfast run` exits with 65 if the objects there are at fault, and with 75 if the answer is: a proxy may have answered, and a retry may reach the store.',
  },
  REMOTE_UNAVAILABLE: {
    exit: EXIT.unavailable,
    title: 'The object store cannot be reached, or keeps failing',
    explain:
      'On every try the connection failed or timed out, or the store answered with a temporary error (429, 5xx). What was already transferred is kept: run the same command again and it continues there. The message carries the last reason. Behind a proxy, set HTTPS_PROXY; for your own certificate authority, set AWS_CA_BUNDLE or NODE_EXTRA_CA_CERTS.',
  },
  RUN_IS_COPY: {
    exit: EXIT.notWritten,
    title: 'The folder holds copies',
    explain:
      '`holdfast ship` wrote this folder: it is a folder it copied to, or a bucket that is mounted here. `resume`, `ls` and `verify` can read it. Seal, prune and roll back in the folder of the run itself; `holdfast fetch` brings a copy back to it.',
  },
} as const;
