import { describe, expect, it } from 'vitest';
import { runKeys } from './keys-bench.ts';

const block = 'hostward:\n  direct: {cluster: c1, platform: "https://p.example.com", keyFile: agent.key}\n';
const files = { '/home/h.yaml': 'hostward: {}\n', '/home/d.yaml': block };

describe('hostward direct', () => {
  it.each([
    [['direct'], 2, 'say which direct endpoint is meant', 'give --config FILE'],
    [['direct', '--config', 'h.yaml'], 1, 'the configuration has no hostward.direct', 'hostward docs direct-endpoints'],
    [['run', '--config', 'd.yaml'], 1, 'has only hostward.direct', 'hostward direct --config FILE'],
    [['direct', '--config', 'wrong.yaml'], 1, 'wrong.yaml:3:14: hostward.direct.silence: wanted', ''],
  ])('%j ends with %d', async (argv, code, said, hint) => {
    const wrong = `${block.replace('direct: {', 'direct: {\n    silence: 1, ')}`;
    const ran = await runKeys(argv, { files: { ...files, '/home/wrong.yaml': wrong } });
    expect(ran.code).toBe(code);
    expect(ran.err).toContain(said);
    expect(ran.err).toContain(hint);
  });

  it('is checked as other blocks are', async () => {
    expect(await runKeys(['check', '--no-files', '--config', 'd.yaml'], { files })).toMatchObject({ code: 0 });
  });
});
