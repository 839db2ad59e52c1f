import { describe, expect, it } from 'vitest';
import { proxyFor } from './connect.ts';
import type { Origin } from './origin.ts';

const S3: Origin = { protocol: 'https:', host: 's3.eu-west-1.amazonaws.com', port: 443 };

describe('proxyFor', () => {
  it('takes the proxy of the scheme, lower case first, with its user', () => {
    expect(proxyFor(S3, { HTTPS_PROXY: 'http://us%40er:pa%3Ass@proxy:3128' })).toEqual({
      protocol: 'http:',
      host: 'proxy',
      port: 3128,
      authorization: `Basic ${Buffer.from('us@er:pa:ss').toString('base64')}`,
    });
    expect(proxyFor(S3, { https_proxy: 'one:1', HTTPS_PROXY: 'http://two:2' })).toMatchObject({
      host: 'one',
      port: 1,
      authorization: null,
    });
    expect(proxyFor(S3, { HTTP_PROXY: 'http://proxy' })).toBeNull();
  });

  it.each(['*', 'amazonaws.com', '.amazonaws.com', 'x, s3.eu-west-1.amazonaws.com:443'])('NO_PROXY=%s exempts', (list) => {
    expect(proxyFor(S3, { HTTPS_PROXY: 'http://proxy', NO_PROXY: list })).toBeNull();
  });

  it.each(['ws.com', 'amazonaws.com:8443', ''])('NO_PROXY=%s does not', (list) => {
    expect(proxyFor(S3, { HTTPS_PROXY: 'http://proxy', NO_PROXY: list })).not.toBeNull();
  });

  it('never sends requests for the machine’s credentials through a proxy', () => {
    expect(proxyFor({ protocol: 'http:', host: '169.254.169.254', port: 80 }, { HTTP_PROXY: 'http://proxy' })).toBeNull();
  });

  it('refuses an invalid proxy address without quoting it', () => {
    expect(() => proxyFor(S3, { HTTPS_PROXY: 'socks5://user:topsecret@proxy' })).toThrow(/not the address/);
    expect(() => proxyFor(S3, { HTTPS_PROXY: 'socks5://user:topsecret@proxy' })).not.toThrow(/topsecret/);
  });
});
