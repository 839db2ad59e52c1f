import { describe, expect, it } from 'vitest';
import { parseIni } from './aws-ini.ts';

describe('parseIni', () => {
  it('reads sections, comments, spaces and settings below settings', () => {
    const file = parseIni(
      [
        '# a comment',
        '[default]',
        'region = eu-west-1   ; a note',
        's3 =',
        '  addressing_style = path',
        '  max_concurrent_requests=20',
        'output=json',
        '[profile  two words]',
        'aws_access_key_id=AKIA',
        'aws_secret_access_key = a=b/c+d==',
        'nonsense',
      ].join('\r\n'),
    );
    expect(Object.fromEntries(file.get('default') ?? [])).toEqual({
      region: 'eu-west-1',
      s3: '',
      's3.addressing_style': 'path',
      's3.max_concurrent_requests': '20',
      output: 'json',
    });
    expect(file.get('profile two words')?.get('aws_secret_access_key')).toBe('a=b/c+d==');
  });
});
