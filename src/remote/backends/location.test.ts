import { describe, expect, it } from 'vitest';
import { parseLocation } from './location.ts';

describe('parseLocation', () => {
  it.each([
    ['s3://bucket/a/b/', { kind: 's3', url: 's3://bucket/a/b', bucket: 'bucket', prefix: 'a/b' }],
    ['gs://my.bucket', { kind: 'gs', url: 'gs://my.bucket', bucket: 'my.bucket', prefix: '' }],
    ['file:///mnt/copies', { kind: 'file', url: 'file:///mnt/copies', path: '/mnt/copies' }],
    ['file:///mnt/two%20words', { kind: 'file', url: 'file:///mnt/two words', path: '/mnt/two words' }],
  ])('reads %s', (text, value) => expect(parseLocation(text)).toEqual({ ok: true, value }));

  it.each([
    ['/mnt/copies', 'is not an address'],
    ['http://bucket/x', 'not a kind of store'],
    ['s3://', 'not the name of a bucket'],
    ['s3://bucket/a//b', 'has an empty name in it'],
    ['s3://bucket/../other', 'has ".." in it'],
    ['s3://key:secret@bucket/x', 'credentials do not belong'],
    ['file://host/x', 'names a machine'],
    ['file:///', 'root of the file system'],
    ['file:///%zz', 'begins no character'],
  ])('refuses %s', (text, reason) => {
    const read = parseLocation(text);
    expect(read.ok ? '' : read.reason).toContain(reason);
  });
});
