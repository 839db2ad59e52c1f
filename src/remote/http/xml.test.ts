import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { escapeXml, xmlBlocks, xmlText } from './xml.ts';

describe('xmlText', () => {
  it('finds an element with attributes, and not one whose name only starts the same', () => {
    expect(xmlText('<R xmlns="x"><KeyCount>1</KeyCount><Key a="b">k&amp;&#x41;</Key></R>', 'Key')).toBe('k&A');
    expect(xmlText('<KeyCount>1</KeyCount>', 'Key')).toBeNull();
    expect(xmlText('<Key/>', 'Key')).toBeNull();
    expect(xmlText('<Key>never ends', 'Key')).toBeNull();
  });

  it('returns any escaped text unescaped', () => {
    fc.assert(fc.property(fc.string(), (text) => xmlText(`<a>${escapeXml(text)}</a>`, 'a') === text));
  });
});

describe('xmlBlocks', () => {
  it('lists the elements of a name in order', () => {
    expect(xmlBlocks('<L><P><N>1</N></P><P><N>2</N></P></L>', 'P').map((block) => xmlText(block, 'N'))).toEqual(['1', '2']);
  });
});
