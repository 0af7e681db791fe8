import { describe, expect, it } from 'vitest';
import { CommandFault, exitCodes } from '../../../src/cli/line/context.ts';
import { parseCommandLine, wantsVerbose } from '../../../src/cli/line/parse-arguments.ts';

function optionsOf(...argv: string[]) {
  const line = parseCommandLine(argv);
  if (line.kind !== 'command') throw new Error(`wanted a command, found ${line.kind}`);
  return line.options;
}

function faultOf(...argv: string[]): CommandFault {
  try {
    parseCommandLine(argv);
  } catch (thrown) {
    if (thrown instanceof CommandFault) return thrown;
    throw thrown;
  }
  throw new Error('expected a fault');
}

describe('parseCommandLine()', () => {
  it('gathers repeated options in order, long, short and with an equals sign', () => {
    expect(optionsOf('check', '--config', 'a', '-c', 'b', '--config=c').texts('config')).toEqual(['a', 'b', 'c']);
  });

  it('takes the last value of an option that does not repeat', () => {
    expect(optionsOf('check', '-o', 'text', '-o', 'json').choice('output')).toBe('json');
  });

  it('takes the first choice as the default', () => {
    expect(optionsOf('render').choice('output')).toBe('yaml');
  });

  it('takes a lone dash as a value and words after -- as operands', () => {
    expect(optionsOf('render', '-f', '-').texts('file')).toEqual(['-']);
    expect(optionsOf('status', '--', '-odd/name').operands).toEqual(['-odd/name']);
  });

  it.each(['-1', '-value', '-x.y + 1'])('says how an expression that begins with a minus is given: %s', (word) => {
    const fault = faultOf('eval', word);
    expect(fault.hint).toMatch(
      /^write -- before an expression that begins with a minus: hostward eval \[OPTIONS\] -- /,
    );
    expect(faultOf('status', word).hint).not.toContain('expression');
  });

  it.each([[[]], [['--help']], [['-h']], [['help']]])('shows general help for %j', (argv) => {
    expect(parseCommandLine(argv)).toEqual({ kind: 'help', command: undefined });
  });

  it.each([[['check', '--help']], [['help', 'check']], [['check', '-c', 'x', '-h']]])(
    'shows help of the command for %j',
    (argv) => {
      expect(parseCommandLine(argv)).toMatchObject({ kind: 'help', command: { name: 'check' } });
    },
  );

  it.each<[string[], string, string]>([
    [['chekc'], 'wanted a command, found "chekc"', 'did you mean "check"?'],
    [['check', '--confg', 'x'], 'has no option "--confg"', 'did you mean "--config"?'],
    [['check', '-q'], 'has no option "-q"', 'see hostward check --help'],
    [['check', '--config'], '--config wants a value (FILE), found nothing', ''],
    [['check', '--config='], '--config wants a value (FILE), found ""', ''],
    [['check', '--config', '--output', 'json'], '--config wants a value (FILE), found "--output"', ''],
    [['check', '-o', 'jsn'], '--output is one of text, json, found "jsn"', 'did you mean "json"?'],
    [['run', '--dry-run=yes'], '--dry-run is a switch and takes no value, found "yes"', ''],
    [['run', 'file.yaml'], 'takes no operands, found "file.yaml"', 'did you mean --config file.yaml?'],
    [['render', 'a.json'], 'takes no operands, found "a.json"', '--file a.json'],
    [['run', 'file'], 'takes no operands, found "file"', 'see hostward run --help'],
    [['check', '-', '-c', '-'], 'can be read once, found --config - and --config -', 'into a file'],
    [['status', 'a/b', 'c/d'], 'takes at most 1 operand, found "c/d"', ''],
    [['render', '-c', '-', '-f', '-'], 'can be read once, found --config - and --file -', 'into a file'],
    [['eval', 'value', '-f', '-', '--stdin'], 'can be read once, found --file - and --stdin', 'into a file'],
    [['--config', 'x', 'check'], 'wanted a command first', 'put options after the command'],
    [['--nonsense'], 'wanted a command, found the option "--nonsense"', ''],
  ])('refuses %j with a sentence', (argv, message, hint) => {
    const fault = faultOf(...argv);
    expect(fault.exitCode).toBe(exitCodes.usage);
    expect(fault.message).toContain(message);
    expect(fault.hint).toContain(hint);
  });

  it('takes an empty value where one has a meaning', () => {
    expect(optionsOf('eval', '1', '--path', '').text('path')).toBe('');
    expect(optionsOf('eval', '1', '--path=').text('path')).toBe('');
  });

  it('takes a dash before a digit for a number, and not for the next option', () => {
    expect(optionsOf('eval', 'value', '--value', '-1').text('value')).toBe('-1');
    expect(optionsOf('eval', 'value', '--value', '-.5').text('value')).toBe('-.5');
  });

  it('takes the files of check with and without the option, in the order of the command line', () => {
    const parsed = parseCommandLine(['check', 'a.yaml', '-c', 'b.yaml', '-o', 'json', 'c.yaml']);
    expect(parsed.kind === 'command' && parsed.options.texts('config')).toEqual(['a.yaml', 'b.yaml', 'c.yaml']);
  });

  it('calls an option that is not in the table a bug', () => {
    expect(() => optionsOf('check').has('nonsense')).toThrow('not in the command table');
  });
});

describe('wantsVerbose()', () => {
  it.each([
    [['run', '--verbose'], {}, true],
    [['run', '-v'], {}, true],
    [['run'], { HOSTWARD_DEBUG: '1' }, true],
    [['run'], { HOSTWARD_DEBUG: '0' }, false],
    [['run'], {}, false],
  ])('of %j with %j is %s', (argv, environment, expected) => {
    expect(wantsVerbose(argv, environment)).toBe(expected);
  });
});
