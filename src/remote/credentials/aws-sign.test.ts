import { describe, expect, it } from 'vitest';
import { EMPTY_PAYLOAD, encodePath, encodeQuery, signRequest, UNSIGNED_PAYLOAD } from './aws-sign.ts';

const CREDENTIALS = {
  accessKeyId: 'AKIDEXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
  sessionToken: null,
  expiresAt: null,
};
const AT = Date.UTC(2026, 10, 15, 10, 30, 5);

function signature(headers: Record<string, string>): string {
  return /Signature=([0-9a-f]+)$/.exec(headers['authorization'] ?? '')?.[1] ?? '';
}

/** The signatures were computed by botocore 1.43 from the same requests. */
describe('signRequest', () => {
  it('signs a request for a key with characters that need encoding', () => {
    const headers = signRequest(
      {
        method: 'HEAD',
        path: encodePath('/some/key with spaces&ü+.pt'),
        query: [],
        headers: { host: 'bucket.s3.eu-west-1.amazonaws.com', 'x-amz-checksum-mode': 'ENABLED' },
        payload: EMPTY_PAYLOAD,
      },
      CREDENTIALS,
      { region: 'eu-west-1', service: 's3', at: AT },
    );
    expect(signature(headers)).toBe('81329524e2af496a81e81dfa1a28b414c10bd01a52a0eea89b352977a12225bb');
  });

  it('signs a part with a session token and an unhashed body', () => {
    const headers = signRequest(
      {
        method: 'PUT',
        path: '/bucket/run/model.bin',
        query: [
          ['uploadId', 'abc/def=='],
          ['partNumber', '12'],
        ],
        headers: { host: 'minio.example:9000', 'x-amz-checksum-crc32c': 'yZRlqg==' },
        payload: UNSIGNED_PAYLOAD,
      },
      { ...CREDENTIALS, sessionToken: 'a/session+token==' },
      { region: 'us-east-1', service: 's3', at: AT },
    );
    expect(signature(headers)).toBe('be47f41bf85f24fa6442754e7af853ba2a928a0a0fd1c6cc68c7aa01e16162e6');
  });

  it('signs a query in the order of its names', () => {
    const headers = signRequest(
      {
        method: 'GET',
        path: '/',
        query: [
          ['list-type', '2'],
          ['prefix', 'a b/c+'],
          ['continuation-token', '1/2'],
        ],
        headers: { host: 'bucket.s3.us-east-1.amazonaws.com' },
        payload: EMPTY_PAYLOAD,
      },
      CREDENTIALS,
      { region: 'us-east-1', service: 's3', at: AT },
    );
    expect(signature(headers)).toBe('524108463b1f6fcaf24ae45a23bba7ff030b95bbb20a112c1e65f378009e067d');
  });
});

describe('encodeQuery', () => {
  it('encodes characters that URL rules would not encode', () => {
    expect(encodeQuery([['a', "!'()*~"]])).toBe('a=%21%27%28%29%2A~');
  });
});
