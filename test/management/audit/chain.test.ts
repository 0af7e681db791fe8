import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import {
  beginning,
  type ChainState,
  chainLine,
  keyedDigest,
  looksTorn,
  lostEnd,
  plainDigest,
  readLine,
} from '../../../src/management/audit/chain/chain.ts';
import { ChainFile } from '../../../src/management/audit/chain/chain-file.ts';
import { verifyChain, verifyFiles } from '../../../src/management/audit/chain/verify.ts';

const digest = keyedDigest(Buffer.from('a key of the audit log'));

function file(entries: object[], from: ChainState = beginning): { text: string; state: ChainState } {
  let state = from;
  let text = '';
  for (const entry of entries) {
    const next = chainLine(state, entry, digest);
    text += `${next.line}\n`;
    state = next.state;
  }
  return { text, state };
}

const entries = Array.from({ length: 6 }, (_, at) => ({ stage: 'outcome', id: `r${at}`, code: 200 + at }));

describe('a chain of lines', () => {
  it('is whole as it was written', () => {
    const { text, state } = file(entries);
    expect(verifyChain(text, { digest })).toMatchObject({ kind: 'whole', lines: 6, state, torn: false });
    expect(
      text
        .split('\n')
        .slice(0, 6)
        .map((line) => readLine(line, digest)?.entry),
    ).toEqual(entries);
    expect(verifyChain('', { digest })).toMatchObject({ kind: 'whole', lines: 0, state: beginning, torn: false });
  });

  it('shows any one character that was changed', () => {
    const { text } = file(entries);
    fc.assert(
      fc.property(fc.nat(text.length - 2), fc.constantFrom('0', 'x', '"', ' '), (at, other) => {
        fc.pre(text[at] !== other && text[at] !== '\n');
        const changed = text.slice(0, at) + other + text.slice(at + 1);
        const line = text.slice(0, at).split('\n').length;
        expect(verifyChain(changed, { digest })).toEqual({ kind: 'broken', line, reason: 'the line was changed' });
      }),
    );
  });

  it('shows lines that were taken out, doubled, moved or put in', () => {
    const lines = file(entries).text.trimEnd().split('\n');
    const verified = (of: string[]) => verifyChain(`${of.join('\n')}\n`, { digest, after: beginning });
    expect(verified(lines).kind).toBe('whole');
    fc.assert(
      fc.property(fc.nat(4), (at) => {
        const without = verified(lines.filter((_, index) => index !== at));
        expect(without).toMatchObject({
          kind: 'broken',
          line: at + 1,
          reason: expect.stringContaining('lines are missing'),
        });
        expect(verified([...lines.slice(0, at + 1), ...lines.slice(at)])).toMatchObject({
          kind: 'broken',
          line: at + 2,
        });
        const swapped = lines.with(at, lines[at + 1] as string).with(at + 1, lines[at] as string);
        expect(verified(swapped)).toMatchObject({ kind: 'broken', line: at + 1 });
      }),
    );
    // A line of another chain, with the right number.
    const other = file([{ id: 'z' }, { id: 'y' }]).text.split('\n');
    expect(verified(lines.with(1, other[1] as string))).toMatchObject({
      kind: 'broken',
      line: 2,
      reason: 'it was written after another line than the one before it',
    });
  });

  it('shows a line that another chain with the same key has, where the store has seen one', () => {
    const seen = { line: 2, digest: file(entries.slice(0, 2)).state.previous };
    const after = beginning;
    expect(beginning.next).toBe(1);
    expect(verifyChain(file(entries).text, { digest, after, known: seen }).kind).toBe('whole');
    const other = file([{ ...entries[0], code: 999 }, ...entries.slice(1)]).text;
    expect(verifyChain(other, { digest, after })).toMatchObject({ kind: 'whole' });
    expect(verifyChain(other, { digest, after, known: seen })).toEqual({
      ...{ kind: 'broken', line: 2, reason: 'line number 2 is not the one that the store has seen' },
    });
    // A file that ends before the line says nothing of it.
    expect(verifyChain(file(entries.slice(0, 1)).text, { digest, after, known: seen }).kind).toBe('whole');
  });

  it('shows an end that was cut off when the last digest is known', () => {
    const { text, state } = file(entries);
    const cut = `${text.trimEnd().split('\n').slice(0, -1).join('\n')}\n`;
    expect(verifyChain(cut, { digest }).kind).toBe('whole');
    expect(verifyChain(cut, { digest, last: state.previous })).toMatchObject({ kind: 'broken', line: 6 });
    expect(verifyChain(text, { digest, last: state.previous }).kind).toBe('whole');
  });

  it('forgives a last line that a crash tore', () => {
    const { text } = file(entries);
    const torn = text.slice(0, -20);
    expect(verifyChain(torn, { digest })).toMatchObject({ kind: 'whole', lines: 5, torn: true });
  });

  it('cannot be made again without the key', () => {
    const line = chainLine(beginning, { id: 'a' }, plainDigest).line;
    expect(verifyChain(`${line}\n`, { digest }).kind).toBe('broken');
    expect(verifyChain(`${line}\n`, { digest: plainDigest }).kind).toBe('whole');
  });

  it('is broken by a line whose digest fits and whose text is no entry', () => {
    for (const body of ['{"seq":1,', '{"previous":"x"', '{"seq":"1","previous":"x"'])
      expect(readLine(`${body},"digest":"${plainDigest(body)}"}`, plainDigest)).toBeUndefined();
  });

  it('goes on from file to file', async () => {
    const one = file(entries.slice(0, 3));
    const two = file(entries.slice(3), one.state);
    const kinds = async (...texts: string[]) => {
      const files = texts.map((text, at) => ({ name: `${at}`, read: async () => text }));
      const found = await verifyFiles(files, { digest, after: beginning, last: two.state.previous });
      return found.map(({ result }) => result.kind);
    };
    expect(await kinds(one.text, two.text)).toEqual(['whole', 'whole']);
    expect(await kinds(two.text)).toEqual(['broken']);
    expect(await kinds(two.text, one.text)).toEqual(['broken', 'broken']);
  });

  it('refuses an entry with a member of the chain, or one that is too long', () => {
    expect(() => chainLine(beginning, { seq: 1 }, digest)).toThrow('without "seq"');
    expect(() => chainLine(beginning, { digest: 'x' }, digest)).toThrow('without "digest"');
    expect(() => chainLine(beginning, { text: 'x'.repeat(20_000) }, digest)).toThrow('wanted at most 16384');
  });

  it('keeps line breaks of an entry inside the line', () => {
    const { line } = chainLine(beginning, { id: 'a\nb","digest":"c' }, digest);
    expect(line.split('\n')).toHaveLength(1);
    expect(readLine(line, digest)?.entry).toEqual({ id: 'a\nb","digest":"c' });
  });
});

describe('a chain in a file', () => {
  const folders: string[] = [];
  afterEach(() => {
    for (const folder of folders.splice(0)) rmSync(folder, { recursive: true });
  });

  function chain({ maxBytes = 1 } = {}) {
    const folder = mkdtempSync(join(tmpdir(), 'hostward-chain-'));
    folders.push(folder);
    const handles = { opened: 0, closed: 0 };
    const disk = { breaks: 'nothing' as 'nothing' | 'writes' | 'all' };
    const made = new ChainFile({
      ...{ folder, name: 'audit', digest, maxBytes },
      open: async (path) => {
        const handle = await open(path, 'a+');
        const { close, appendFile, truncate } = handle;
        handles.opened++;
        return Object.assign(handle, {
          close: () => close.call(handle).finally(() => void handles.closed++),
          appendFile: async (bytes: Buffer) => {
            if (disk.breaks === 'nothing') return appendFile.call(handle, bytes);
            await appendFile.call(handle, bytes.subarray(0, bytes.length / 2));
            throw new Error('ENOSPC');
          },
          truncate: async (length: number) => {
            if (disk.breaks === 'all') throw new Error('EIO');
            return truncate.call(handle, length);
          },
        });
      },
    });
    return { folder, handles, disk, chain: made };
  }

  it('takes no line after the stop, and leaves the file to the next process', async () => {
    const { folder, handles, chain: file } = chain();
    await file.start();
    await file.append({ id: 'a' });
    await file.stop();
    await expect(file.append({ id: 'b' })).rejects.toThrow('want the file open, it is closed');
    expect(readdirSync(folder)).toEqual(['audit.log']);
    expect(handles).toEqual({ opened: 1, closed: 1 });
  });

  it('writes the lines that wait when it stops, refuses those that come in the meantime, and leaves no file open', async () => {
    const { folder, handles, chain: file } = chain();
    await file.start();
    await file.append({ id: 'a' });
    const waiting = file.append({ id: 'b' });
    const stopped = file.stop();
    const late = [expect(file.append({ id: 'c' })).rejects.toThrow('it is closed')];
    await waiting;
    // The file is about to be closed.
    late.push(expect(file.append({ id: 'd' })).rejects.toThrow('it is closed'));
    await Promise.all([stopped, ...late]);
    const texts = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'));
    expect(texts.map((text) => text.split('\n').length)).toEqual([2, 2]);
    expect(handles).toEqual({ opened: 2, closed: 2 });
  });

  it('takes half a line back before the next one, also when the disk let nothing be taken back at first', async () => {
    const { folder, disk, chain: file } = chain({ maxBytes: 100_000 });
    await file.start();
    await file.append({ id: 'a' });
    for (const takesBack of [true, false]) {
      disk.breaks = takesBack ? 'writes' : 'all';
      await expect(file.append({ id: 'lost' })).rejects.toThrow('ENOSPC');
      disk.breaks = 'nothing';
      await file.append({ id: 'b' });
    }
    await file.stop();
    const text = readFileSync(join(folder, 'audit.log'), 'utf8');
    expect(verifyChain(text, { digest })).toMatchObject({ kind: 'whole', lines: 3, torn: false });
    expect(text).not.toContain('lost');
  });
});

describe('lostEnd()', () => {
  const end = { line: 5, digest: 'a' };
  it.each([
    ['nothing was seen', undefined, undefined],
    ['an earlier line was seen', { line: 4, digest: 'b' }, undefined],
    ['this line was seen', { line: 5, digest: 'a' }, undefined],
    ['another line of this number was seen', { line: 5, digest: 'b' }, { of: 'log', after: 5, seen: 5 }],
    ['a later line was seen', { line: 6, digest: 'b' }, { of: 'log', after: 5, seen: 6 }],
  ])('where %s', (_, seen, lines) => {
    expect(lostEnd('log', end, seen)?.lines).toEqual(lines);
  });
});

describe('looksTorn()', () => {
  it.each([
    ['{"seq":7,"prev', true],
    ['{"se', true],
    ['', true],
    ['{"other":7', false],
    ['text', false],
  ])('of "%s" is %s', (text, isTorn) => {
    expect(looksTorn(text)).toBe(isTorn);
  });
});
