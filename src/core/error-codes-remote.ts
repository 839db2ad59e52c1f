import { EXIT } from './exit-codes.ts';

/** Errors of object stores: what can go wrong between here and the copy of a checkpoint. Part of the one table in `error-codes.ts`. */
export const REMOTE_ERROR_CODES = {
  CREDENTIALS_MISSING: {
    exit: EXIT.noInput,
    title: 'No credentials for the object store were found',
    explain:
      'Holdfast looks where the tools of the cloud look. AWS: the environment, a web identity (IRSA), single sign-on, the shared files and profiles, the container endpoint, the instance’s metadata. Google: GOOGLE_APPLICATION_CREDENTIALS, the file of `gcloud auth application-default login`, the metadata server. None of them had any, or one was incomplete; the message says which. Nothing was sent.',
  },
  CREDENTIALS_REFUSED: {
    exit: EXIT.noInput,
    title: 'The object store does not accept the credentials',
    explain:
      'The key is unknown, the signature does not match its secret, or a temporary credential has ended. Check which credentials are found first (the environment wins over files and roles), and renew them. Secrets are never printed.',
  },
  REMOTE_ACCESS_DENIED: {
    exit: EXIT.noInput,
    title: 'The object store refuses access',
    explain:
      'The credentials are known but may not do this. Shipping needs to read, write and list objects below the prefix, and to list and abort multipart uploads (on S3: GetObject, PutObject, ListBucket, AbortMultipartUpload, ListBucketMultipartUploads, ListMultipartUploadParts; on Google: the role Storage Object User). Fetching needs to read and list. A bucket policy, a missing encryption key permission or a network condition may refuse as well.',
  },
  BUCKET_NOT_FOUND: {
    exit: EXIT.noInput,
    title: 'The bucket does not exist',
    explain:
      'There is no bucket of that name at this endpoint, or it lies with another provider. Holdfast never makes buckets. Check the spelling, the endpoint and the region.',
  },
  CLOCK_SKEWED: {
    exit: EXIT.no,
    title: 'The clock of this machine is wrong',
    explain:
      'Requests are signed with the time. The store refused ours as too far from its own, and correcting by the time it told did not help. Set the clock (NTP, chrony). Checkpoints are not affected: nothing of them rests on clocks.',
  },
  CHECKSUM_MISMATCH: {
    exit: EXIT.no,
    title: 'The copy is not what was sealed',
    explain:
      'The object store holds, or handed out, bytes whose crc32c is not the one in the manifest, also after further tries. The copy does not count as shipped, and nothing of it was put in place. A proxy on the way, a fault of the store, or another writer to the same prefix can do this.',
  },
  SOURCE_CHANGED: {
    exit: EXIT.no,
    title: 'The checkpoint is no longer what was sealed',
    explain:
      'A local file does not match its checksums in the manifest any more: it was changed, cut or damaged after it was sealed. It was not shipped. `holdfast verify --deep` tells what is wrong; `holdfast resume` finds the last good one.',
  },
  REMOTE_CONFLICT: {
    exit: EXIT.no,
    title: 'Something else lies at the remote place',
    explain:
      'The prefix belongs to another run, or another checkpoint has the name there and a newer attempt of the run ships to it, so that this one is stale. Nothing is ever replaced. Give every run a prefix of its own, and let one attempt of it run at a time. `holdfast run` ends with 65 for it.',
  },
  REMOTE_NOT_FOUND: {
    exit: EXIT.noInput,
    title: 'There is no shipped checkpoint at that address',
    explain:
      'Neither a pointer to the last good checkpoint nor the manifest of the one that was named was found. A copy whose manifest is missing was never finished and does not count. Check the prefix.',
  },
  REMOTE_INVALID: {
    exit: EXIT.no,
    title: 'What the object store holds cannot be understood',
    explain:
      'The remote manifest or pointer is damaged, too large, of a newer version, or names files outside of its folder; or the store answered something that is no answer. Nothing was written. `holdfast run` ends with 75 for it: a proxy on the way may have answered, and another try may reach the store.',
  },
  REMOTE_UNAVAILABLE: {
    exit: EXIT.unavailable,
    title: 'The object store cannot be reached, or keeps failing',
    explain:
      'Connections failed, timed out, or the store answered with errors that should pass (429, 5xx), through all tries. What was transferred is kept: run the same command again and it goes on from there. The message carries the last reason. Behind a proxy set HTTPS_PROXY; for an own certificate authority set AWS_CA_BUNDLE or NODE_EXTRA_CA_CERTS.',
  },
  RUN_IS_COPY: {
    exit: EXIT.notWritten,
    title: 'The folder holds copies',
    explain:
      '`holdfast ship` made what lies there: a folder it copied to, or a bucket that is mounted here. `resume`, `ls` and `verify` read it. Sealing, pruning, rolling back and the like happen in the folder of the run itself, and `holdfast fetch` brings a copy back to it.',
  },
} as const;
