import { describe, expect, it } from 'vitest';
import { lastFrames } from '../../../../src/management/proxy/frames/last-frames.ts';
import type { Status } from '../../../../src/object/meta/status.ts';

const gone: Status = {
  ...{ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure' },
  ...{ reason: 'Unauthorized', message: 'the key has ended', code: 401 },
};
interface Case {
  subresource: string;
  protocol?: string;
  used?: number;
  isInMessage?: boolean;
}
/** The channel and the beginning of each frame, and the number of the last one. */
function told({ subresource, protocol = 'v5.channel.k8s.io', used, isInMessage = false }: Case) {
  const hasUsed = (channel: number) => channel === used;
  const bytes = lastFrames(gone, { protocol, subresource, ports: 2, hasUsed, isInMessage });
  const frames: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    const short = (bytes[at + 1] as number) & 0x7f;
    const [head, length] = short === 126 ? [4, bytes.readUInt16BE(at + 2)] : [2, short];
    frames.push(bytes.subarray(at + head, at + head + length));
    at += head + length;
  }
  const closing = frames.pop() as Buffer;
  return {
    channels: frames.map((frame) => [frame[0], frame.toString('utf8', 1, 16)]),
    closes: closing.readUInt16BE(0),
  };
}

describe('the last frames of a session whose right has ended', () => {
  it.each(['exec', 'attach'])(
    'of %s carry the Status in the error channel, as the end of the command',
    (subresource) => {
      expect(told({ subresource })).toEqual({ channels: [[3, '{"kind":"Status']], closes: 1000 });
    },
  );

  it('are plain before the fourth version', () => {
    expect(told({ subresource: 'attach', protocol: 'channel.k8s.io' })).toEqual({
      channels: [[3, 'the key has end']],
      closes: 1000,
    });
  });

  it('of a port-forward tell each port', () => {
    const { channels, closes } = told({ subresource: 'portforward' });
    expect(channels.map(([channel]) => channel)).toEqual([1, 3]);
    expect(closes).toBe(1008);
  });

  it.each<[string, Case]>([
    ['a log', { subresource: 'log' }],
    ['an exec whose command has ended', { subresource: 'exec', used: 3 }],
    ['a protocol without channels', { subresource: 'exec', protocol: 'other' }],
    ['a session in the middle of a message', { subresource: 'exec', isInMessage: true }],
  ])('of %s say why in the close frame alone', (_, of) => {
    expect(told(of)).toEqual({ channels: [], closes: 1008 });
  });
});
