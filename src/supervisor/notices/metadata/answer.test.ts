import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { readAnswer } from './answer.ts';
import { MetadataTrouble } from './trouble.ts';

const read = (text: string, isEnded = false): string | null => readAnswer(Buffer.from(text), isEnded)?.body ?? null;
const HEAD = 'HTTP/1.1 200 OK\r\nX-Tag:  a b \r\n';

describe('an answer of a metadata service', () => {
  it('has a status, headers by name in small letters, and a body', () => {
    const answer = readAnswer(
      Buffer.from(`HTTP/1.0 404\r\nMetadata-Flavor: Google\r\nmetadata-flavor: other\r\nContent-Length: 2\r\n\r\nno more`),
      false,
    );
    expect(answer).toMatchObject({ status: 404, body: 'no' });
    expect(answer?.headers.get('metadata-flavor')).toBe('Google');
    expect(readAnswer(Buffer.from(`${HEAD}\r\n`), true)?.headers.get('x-tag')).toBe('a b');
  });

  it.each([
    ['by its length', `${HEAD}content-length: 4\r\n\r\nTRUE`, 'TRUE'],
    ['in chunks', `${HEAD}Transfer-Encoding: Chunked\r\n\r\n2\r\nTR\r\n2;x=y\r\nUE\r\n0\r\n\r\n`, 'TRUE'],
    ['of no bytes', `${HEAD}Content-Length: 0\r\n\r\n`, ''],
  ])('is complete %s, wherever its bytes are split', (_, text, body) => {
    expect(read(text)).toBe(body);
    const least = text.endsWith('0\r\n\r\n') && text.includes('hunked') ? text.length - 2 : text.length;
    for (let length = 0; length < least; length++) expect(read(text.slice(0, length))).toBeNull();
  });

  it('without a length ends with the connection', () => {
    expect(read(`${HEAD}\r\nTRUE`)).toBeNull();
    expect(read(`${HEAD}\r\nTRUE`, true)).toBe('TRUE');
  });

  it.each([
    ['', 'is empty'],
    ['SSH-2.0-OpenSSH\r\n\r\n', 'not HTTP'],
    ['HTTP/1.1 100 Continue\r\n\r\n', 'not HTTP'],
    [`${HEAD}no header\r\n\r\n`, 'an invalid header'],
    [`${HEAD}Content-Length: -1\r\n\r\n`, 'an invalid length'],
    [`${HEAD}Content-Length: 5\r\n\r\nTRUE`, 'ends too early'],
    [`${HEAD}Content-Length: 99999999\r\n\r\n`, 'more than 65536 bytes'],
    [`${HEAD}\r\n${'x'.repeat(70_000)}`, 'more than 65536 bytes'],
    [`${HEAD}Transfer-Encoding: gzip\r\n\r\n`, 'unknown transfer encoding'],
    [`${HEAD}Transfer-Encoding: chunked\r\n\r\nzz\r\n`, 'a chunk without a size'],
    [`${HEAD}Transfer-Encoding: chunked\r\n\r\nffffffff\r\n`, 'more than 65536 bytes'],
    [`${HEAD}Transfer-Encoding: chunked\r\n\r\n5\r\nTRUE`, 'ends too early'],
    ['x'.repeat(20_000), 'a head of more than'],
    [`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(20_000)}\r\n\r\n`, 'a head of more than'],
  ])('%# is refused: %s', (text, reason) => {
    expect(() => read(text, true)).toThrow(reason);
  });

  it('never throws anything but a MetadataTrouble', () => {
    const pieces = fc.constantFrom(
      'HTTP/1.1 200 OK',
      '\r\n',
      '\r\n\r\n',
      'Content-Length: ',
      'Transfer-Encoding: chunked',
      '5',
      'a',
      ': ',
      '\0',
    );
    fc.assert(
      fc.property(fc.array(fc.oneof(pieces, fc.string()), { maxLength: 20 }), fc.boolean(), (parts, isEnded) => {
        try {
          read(parts.join(''), isEnded);
        } catch (thrown) {
          expect(thrown).toBeInstanceOf(MetadataTrouble);
        }
      }),
    );
  });
});
