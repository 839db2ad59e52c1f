import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { parseLocation } from '../remote/backends/location.ts';
import { parseMetadataWish } from '../supervisor/settings/metadata-wish.ts';
import { HoldfastError } from './errors.ts';
import { maskArguments, Redactor, withoutUser } from './secrets.ts';
import { readings } from './unescaped.ts';

const PLAIN = 'as it is';
/** Ways to write one character so that some program reads it as the character again. */
const ESCAPES: Readonly<Record<string, (char: string) => string>> = {
  [PLAIN]: (char) => char,
  'JSON with small digits': (char) => `\\u${hex(char, 4)}`,
  'JSON with capital digits': (char) => `\\u${hex(char, 4).toUpperCase()}`,
  'Python with eight digits': (char) => `\\U${hex(char, 8)}`,
  JavaScript: (char) => `\\u{${hex(char, 1)}}`,
  C: (char) => `\\x${hex(char, 2)}`,
  'a shell': (char) => `\\${char.charCodeAt(0).toString(8).padStart(3, '0')}`,
  'an address': (char) => `%${hex(char, 2)}`,
  'an address with capital digits': (char) => `%${hex(char, 2).toUpperCase()}`,
  HTML: (char) => `&#${char.charCodeAt(0)};`,
  XML: (char) => `&#x${hex(char, 2)};`,
};

function hex(char: string, digits: number): string {
  return char.charCodeAt(0).toString(16).padStart(digits, '0');
}

/** Credentials as a header can carry them. */
const SECRETS = fc.stringMatching(/^[!-~]{8,60}$/);

/** The text with each character escaped, by the ways in turn; what begins an escape always is. */
function escapedBy(text: string, ways: readonly string[]): string {
  const ofEach = (char: string, way = '') => (way === PLAIN && '\\%&'.includes(char) ? ESCAPES['C'] : ESCAPES[way])?.(char) ?? '';
  return text
    .split('')
    .map((char, index) => ofEach(char, ways[index % ways.length]))
    .join('');
}

describe('a redactor', () => {
  it.each(Object.keys(ESCAPES))('masks a known secret whose characters are escaped in the way of %s', (way) => {
    fc.assert(fc.property(SECRETS, (secret) => expectMasked(secret, escapedBy(secret, [way]))));
  });

  it('masks a known secret whose characters are escaped in several ways, or twice', () => {
    const ways = fc.array(fc.constantFrom(...Object.keys(ESCAPES)), { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(SECRETS, ways, ways, (secret, first, second) => {
        expectMasked(secret, escapedBy(secret, first));
        expectMasked(secret, escapedBy(escapedBy(secret, first), second));
      }),
    );
  });

  it('masks a known secret in JSON, in an address, in JSON within JSON, and as hexadecimal', () => {
    fc.assert(
      fc.property(SECRETS, (secret) => {
        const json = JSON.stringify({ told: secret });
        for (const text of [json, JSON.stringify(json), encodeURIComponent(secret), encodeURIComponent(json), json.replaceAll('/', '\\/')])
          expectMasked(secret, text);
        expect(redactorOf(secret).redact(Buffer.from(secret).toString('hex').toUpperCase())).toBe('[redacted]');
      }),
    );
  });

  it.each(['base64', 'base64url'] as const)('masks a known secret in %s, alone or as a part of what is encoded', (alphabet) => {
    fc.assert(
      fc.property(SECRETS, fc.string({ maxLength: 20 }), fc.string({ maxLength: 20 }), (secret, before, behind) => {
        const encoded = Buffer.from(before + secret + behind).toString(alphabet);
        const clean = redactorOf(secret).redact(`sent: ${encoded}`);
        expect(clean).toContain('[redacted]');
        const left = clean.replace('sent: ', '').split('[redacted]');
        for (const piece of left) expect(Buffer.from(piece, alphabet).toString().includes(secret.slice(0, 4))).toBe(false);
      }),
    );
  });

  it('masks a secret of any script, and one with spaces in a form', () => {
    const secret = 'пароль из слов ✓';
    for (const text of [encodeURIComponent(secret), JSON.stringify(secret), secret.replaceAll(' ', '+')]) expectMasked(secret, text);
    expectMasked('correct horse battery', 'correct+horse+battery');
  });

  it('masks what looks like a secret also where it is escaped', () => {
    const redact = (text: string): string => new Redactor().redact(text);
    expect(redact(String.raw`{"to\u006ben":1,"access\u005ftoken":"abcdefgh"}`)).not.toContain('abcdefgh');
    expect(redact('at https%3A%2F%2Fme:hunter22@host%2Fx')).not.toContain('hunter22');
    expect(redact(String.raw`at https:\/\/me:hunter22@host\/x`)).not.toContain('hunter22');
  });

  it('reads a text of any length in linear time', () => {
    const redactor = redactorOf('a-known-secret');
    for (const piece of ['a', '%41', '%25', '\\', String.raw`\u0041`, '&#', '&amp;', 'bearer ', 'access_token=', '://:', '@'])
      expect(redactor.redact(piece.repeat(500_000)).length).toBeLessThan(100_000);
  });

  it.each([
    'Authorization: Bearer abcdefghijkl',
    'X-Amz-Security-Token=abcdefghijkl&x=1',
    '{"access_token":"abcdefghijkl"}',
    'the key abcdefghijklABCDEFGHIJ0123456789abcdefghijkl was refused',
  ])('masks a string that looks like a secret, even an unknown one: %s', (text) => {
    expect(new Redactor().redact(text)).not.toContain('abcdefghijkl');
  });

  it.each([
    'cannot read s3://my-checkpoints/gpt2/step-200/holdfast.manifest.json: NoSuchBucket',
    'the digest e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855 differs',
  ])('leaves ordinary sentences as they are: %s', (text) => expect(new Redactor().redact(text)).toBe(text));
});

function redactorOf(secret: string): Redactor {
  const redactor = new Redactor();
  redactor.know(secret);
  return redactor;
}

/** Neither the secret nor anything that can be turned into it again is left. */
function expectMasked(secret: string, written: string): void {
  const clean = redactorOf(secret).redact(`before ${written} after`);
  expect(clean).toContain('[redacted]');
  for (const { text } of readings(clean)) expect(text).not.toContain(secret);
}

describe('a password in an address', () => {
  const PASSWORDS = fc.stringMatching(/^[!-~]{8,40}$/).filter((text) => !/["'\s]/.test(text));

  it.each(['http', 'https', 'postgres', 's3', 'socks5h'])('is in no error about %s://, whatever its characters are', (scheme) => {
    fc.assert(
      fc.property(PASSWORDS, (password) => {
        const address = `${scheme}://me:${password}@host.example:8443/path?x=1`;
        const error = new HoldfastError('USAGE', { message: `"${address}" is refused: ${address}`, hint: `Not ${address}.` });
        expect(error.message + (error.hint ?? '')).not.toContain(password);
        expect(error.message).toContain('host.example:8443/path?x=1');
      }),
    );
  });

  it('is in no refusal of a text that should be an address', () => {
    fc.assert(
      fc.property(PASSWORDS, fc.constantFrom('', 'http://', 'ftp://', 'S3://'), (password, scheme) => {
        // That would be an address of its own, with the scheme "me".
        fc.pre(scheme !== '' || !password.startsWith('//'));
        const address = `${scheme}me:${password}@host`;
        for (const read of [parseLocation(address), parseMetadataWish(`gcp=${address}`), parseMetadataWish(address)]) {
          expect(read.ok ? '' : new HoldfastError('USAGE', { message: read.reason }).message).not.toContain(password);
        }
        expect(withoutUser(address)).toBe(`${scheme}[redacted]@host`);
      }),
    );
  });

  it('is not found in an address without a user', () => {
    for (const text of ['http://host:9500/x', 's3://bucket/run@2', 'file:///runs/a:b/c@d', 'busybox:1.36@sha256:0123', 'me@example.org'])
      expect(new HoldfastError('USAGE', { message: text }).message).toBe(text);
  });
});

describe('the arguments of a trainer', () => {
  it.each([
    [
      ['train.py', '--api-key=abc123'],
      ['train.py', '--api-key=[redacted]'],
    ],
    [
      ['train.py', '--wandb_api_key', 'abc123'],
      ['train.py', '--wandb_api_key', '[redacted]'],
    ],
    [
      ['train.py', '--mysecret=abc', '--dbPassword', 'abc', '--wandbapikey=abc'],
      ['train.py', '--mysecret=[redacted]', '--dbPassword', '[redacted]', '--wandbapikey=[redacted]'],
    ],
    [
      ['train.py', '--hfToken=abc'],
      ['train.py', '--hfToken=[redacted]'],
    ],
    [
      ['env', 'WANDB_API_KEY=abc123', 'python', 'train.py'],
      ['env', 'WANDB_API_KEY=[redacted]', 'python', 'train.py'],
    ],
    [
      ['bash', '-c', 'HF_TOKEN=abc python train.py --password hunter2'],
      ['bash', '-c', 'HF_TOKEN=[redacted] python train.py --password [redacted]'],
    ],
    [
      ['train.py', '--db', 'postgres://me:hunter2@db/x'],
      ['train.py', '--db', 'postgres://[redacted]@db/x'],
    ],
    [
      ['train.py', 'hf_abcdefghijklmnopqrstuvwxyz'],
      ['train.py', '[redacted]'],
    ],
    [
      ['curl', '-H', 'Authorization: Bearer abc123', '--header=X-Api-Key: abc123'],
      ['curl', '-H', 'Authorization: Bearer [redacted]', '--header=X-Api-Key: [redacted]'],
    ],
    [
      ['train.py', '--config={"api_key": "abc 123", "lr": 0.1}', "--more={'password':'abc'}"],
      ['train.py', '--config={"api_key": [redacted], "lr": 0.1}', "--more={'password':[redacted]}"],
    ],
    [
      ['train.py', '--data=https://x/y?sv=1&sig=abc%3D&X-Amz-Signature=abc', '--url=https://x/y?sig=abc'],
      ['train.py', '--data=https://x/y?sv=1&sig=[redacted]&X-Amz-Signature=[redacted]', '--url=https://x/y?sig=[redacted]'],
    ],
    [
      ['train.py', '--pass=abc', '--pat', 'abc', '--auth=abc', '--wandb-key=abc', '--jwt=abc'],
      ['train.py', '--pass=[redacted]', '--pat', '[redacted]', '--auth=[redacted]', '--wandb-key=[redacted]', '--jwt=[redacted]'],
    ],
    [
      ['sh', '-c', 'curl -H "Authorization: Basic abc=" https://x; export TOKEN=abc'],
      ['sh', '-c', 'curl -H "Authorization: Basic [redacted]" https://x; export TOKEN=[redacted]'],
    ],
    [
      ['train.py', '--key', '-----BEGIN RSA PRIVATE KEY-----\nabc\n-----END RSA PRIVATE KEY-----\n'],
      ['train.py', '--key', '[redacted]\n'],
    ],
    [
      ['train.py', String.raw`--config={"api\u005fkey": "abc"}`, '--next=/x%3Ftoken%3Dabc'],
      ['train.py', '--config={"api\\u005fkey": [redacted]}', '--next=/x%3Ftoken%3D[redacted]'],
    ],
  ])('%j are recorded as %j', (command, masked) => expect(maskArguments(command)).toEqual(masked));

  it('of any length are masked in linear time', () => {
    for (const piece of ['a', 'a-', 'a ', ' ', 'a=', 'a:"', 'token=', '-----BEGIN ', '\\"']) {
      const argument = piece.repeat(100_000);
      expect(maskArguments([argument])[0]).toBeDefined();
    }
  });

  it('are masked if they are the value of a secret variable, under any name', () => {
    expect(maskArguments(['train.py', '--x=my-own-secret-7'], { SOME_TOKEN: 'my-own-secret-7' })).toEqual(['train.py', '--x=[redacted]']);
    const escaped = escapedBy('my-own-secret-7', ['JSON with small digits', 'an address', PLAIN]);
    expect(maskArguments(['train.py', `--x=${escaped}`], { SOME_TOKEN: 'my-own-secret-7' })).toEqual(['train.py', '--x=[redacted]']);
  });

  it.each([
    [['python', 'train.py', '--tokenizer=gpt2', '--max-tokens=512', '--max-tokens', '512', '--pad-token', '<pad>']],
    [['torchrun', '--nnodes=2', '-m', 'my.package', '--key-frames=7', '--author=me', '--token-count=x']],
    [['python', '-c', 'print("token")']],
    [['train.py', '--passes=3', '--first-pass=2', '--pattern=a', '--path=b', '--signal:int=7', '{"tokens": 512, "author": "me"}']],
  ])('without a secret are recorded as they are: %j', (command) => expect(maskArguments(command)).toEqual(command));
});
