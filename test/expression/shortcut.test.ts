import { parseExpressionAt } from 'acorn';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type CompiledExpression, compileExpression } from '../../src/expression/compile.ts';
import type { Evaluator } from '../../src/expression/evaluator.ts';
import { shortcutLimits } from '../../src/expression/limits.ts';
import type { EvaluationRequest, ValueGroup } from '../../src/expression/request.ts';
import { shortcutOf } from '../../src/expression/shortcut.ts';
import { unknown } from '../../src/expression/shortcut-operators.ts';
import { withShortcuts } from '../../src/expression/with-shortcuts.ts';
import { compiled, evaluator, fixture } from './bed.ts';

interface Row {
  expression: string;
  value?: unknown;
  valueExists?: boolean;
  context?: Record<string, unknown>;
  /** Left out: it is the sandbox's to answer. */
  result?: unknown;
}

const { answered, asked, refused } = fixture<{ answered: Row[]; asked: Row[]; refused: string[] }>('shortcuts.json');
const vcluster = { name: 'vc', namespace: 'vcluster-vc', config: { region: 'eu', count: 3 } };
const context = {
  vcluster,
  hostObject: null,
  virtualObject: { metadata: { name: 'web', labels: { app: 'a', 'x.y/z': '' } }, list: [1, 'two', null] },
  path: 'metadata.labels.app',
};

/** Nobody asks it; what reaches it is noted. */
function forbidden(reached: ValueGroup[] = []): Evaluator {
  return {
    start: async () => {},
    stop: async () => {},
    evaluate: async ({ groups }: EvaluationRequest) => {
      reached.push(...groups);
      return groups.map(({ values }) => ({ results: values, errors: [] }));
    },
    quarantined: 0,
  };
}

function answer(row: Row): unknown {
  const shortcut = shortcutOf(compiled(row.expression));
  if (shortcut === undefined) return 'none of the simplest';
  const { value = null, valueExists = true } = row;
  return shortcut.answer({ value, valueExists, context: { ...context, ...row.context } });
}

/** A template with the value in it, which a linter would take for a forgotten one. */
const template = (before: string): string => ['`', before, '$', '{value}`'].join('');

describe('a shortcut', () => {
  it.each(answered.map((row) => [row.expression, row.value, row] as const))('knows %s of %j', (_, __, row) => {
    expect(answer(row)).toEqual(row.result);
  });

  it.each(asked.map((row) => [row.expression, row.value, row] as const))(
    'leaves %s of %j to the sandbox',
    (_, __, row) => {
      expect(answer(row)).toBe(unknown);
    },
  );

  it.each(refused)('is not made for %s', (source) => {
    expect(shortcutOf(compiled(source))).toBeUndefined();
  });

  it('finds nothing that is not a member of its own', () => {
    expect(answer({ expression: 'value.a', value: Object.create({ a: 'inherited' }) })).toBeNull();
  });

  it('is not made for an expression of many parts', () => {
    const parts = (count: number): string => Array.from({ length: count }, () => 'value').join(' || ');
    expect(shortcutOf(compiled(parts(shortcutLimits.steps / 2)))).toBeDefined();
    expect(shortcutOf(compiled(parts(shortcutLimits.steps)))).toBeUndefined();
  });

  it.each(['value.replaceAll("a", "b")', 'value.replace(/a/g, "b")', 'value.split("a")[0]'])(
    'counts %s as many parts: it makes something for each character',
    (source) => {
      const sliced = shortcutOf(compiled('value.slice(1, 2)'))?.steps ?? 0;
      expect(shortcutOf(compiled(source))?.steps).toBeGreaterThanOrEqual(2 * sliced);
      expect(shortcutOf(compiled(Array.from({ length: 8 }, () => source).join(' || ')))).toBeUndefined();
    },
  );

  it('is not made for a pattern that the parser could not make a value of', () => {
    const tree = parseExpressionAt('/a/', 0, { ecmaVersion: 2022 });
    expect(shortcutOf({ tree: { ...tree, value: null } as typeof tree })).toBeUndefined();
  });

  it('knows nothing of texts that are longer than its limit, whole or in between', () => {
    const long = 'x'.repeat(shortcutLimits.text + 1);
    const short = `${'x'.repeat(shortcutLimits.text - 2)}ßİ`;
    for (const expression of ['value + ""', 'value === "a"', 'value.trim()', 'value.replaceAll("x", "")', template('')])
      expect(answer({ expression, value: long })).toBe(unknown);
    for (const expression of [
      '(value + "y").slice(1)',
      'value.replaceAll("x", "xy")',
      template('y'),
      'value.includes(value)',
      'value.replaceAll("y", value)',
      '(value + "y").length',
      `(${template('y')}).length`,
      'value.replaceAll("x", "xy").length',
      'value.toUpperCase().length',
      'value.toLowerCase().length',
    ])
      expect(answer({ expression, value: short })).toBe(unknown);
    expect(answer({ expression: 'value.a', value: { a: short } })).toBe(short);
    expect(answer({ expression: 'value.a', value: { a: long } })).toBe(unknown);
    expect(answer({ expression: 'value', value: long })).toBe(long);
    expect(answer({ expression: 'value.length', value: long })).toBe(long.length);
  });
});

describe('a shortcut to a replacement', () => {
  const longest = 'x'.repeat(shortcutLimits.search);
  it.each([
    'value.replace(/a/, context.long)',
    'value.replace("a", context.long)',
    'value.replaceAll("a", context.long)',
  ])('does not look through one of any length for an empty text: %s', (expression) => {
    expect(answer({ expression, value: '', context: { long: longest } })).toBe('');
    expect(answer({ expression, value: '', context: { long: `${longest}x` } })).toBe(unknown);
  });
});

describe('withShortcuts()', () => {
  const open = (sources: readonly string[], inner: Evaluator) => {
    const expressions = sources.map(compiled);
    return { expressions, on: withShortcuts(inner, { expressions, vcluster }) };
  };

  it('asks the sandbox for the groups that it does not know, and for nothing else', async () => {
    const reached: ValueGroup[] = [];
    const { expressions, on } = open(
      ['"t-" + value', 'value.split("").reverse().join("")', 'value.trim()'],
      forbidden(reached),
    );
    const groups = expressions.map((expression, at) => ({ expression, values: at === 2 ? [' a ', 7] : ['a', 'b'] }));
    const results = await on.evaluate({ hostObject: null, virtualObject: null, groups });
    expect(results.map((group) => group.results)).toEqual([
      ['t-a', 't-b'],
      ['a', 'b'],
      [' a ', 7],
    ]);
    expect(reached).toEqual([groups[1], groups[2]]);
  });

  it('answers at once where no evaluator has to be asked, or the one behind it answers at once', async () => {
    const { expressions, on } = open(['"t-" + value', 'value.at(0)'], {
      ...forbidden(),
      evaluate: ({ groups }) => groups.map(() => ({ results: ['known'], errors: [] })),
    });
    const groups = expressions.map((expression) => ({ expression, values: ['a'] }));
    const results = on.evaluate({ hostObject: null, virtualObject: null, groups });
    expect(results).toEqual([
      { results: ['t-a'], errors: [] },
      { results: ['known'], errors: [] },
    ]);
  });

  const many = (count: number) => Array.from({ length: count }, (_, number) => `v${number}`);

  it('asks the sandbox when a patch has more values than are worked out here', async () => {
    const reached: ValueGroup[] = [];
    const { expressions, on } = open(['"t-" + value', 'value'], forbidden(reached));
    const [longer, shorter] = expressions as [CompiledExpression, CompiledExpression];
    const most = (expression: CompiledExpression) => shortcutLimits.parts / (shortcutOf(expression)?.steps ?? 1);
    const groups = [
      { expression: longer, values: many(Math.floor(most(longer)) + 1) },
      { expression: shorter, values: many(most(shorter)) },
    ];
    await on.evaluate({ hostObject: null, virtualObject: null, groups });
    expect(reached).toEqual([groups[0]]);
  });

  it('remembers what it made of many values, and only of the same ones', async () => {
    const told: [string, number][] = [];
    const metrics = {
      shortcut: (count: number) => void told.push(['worked out', count]),
      remembered: (count: number) => void told.push(['remembered', count]),
    };
    const expressions = ['"t-" + value'].map(compiled);
    const [expression] = expressions as [CompiledExpression];
    const on = withShortcuts(forbidden(), { expressions, vcluster, metrics });
    const few = many(shortcutLimits.fewValues);
    const more = [...few, 'last'];
    const lists = [few, few, more, more.slice(), [...few, 'other'], more];
    for (const values of lists) {
      const [result] = await on.evaluate({ hostObject: null, virtualObject: null, groups: [{ expression, values }] });
      expect(result).toEqual({ results: values.map((value) => `t-${value}`), errors: [] });
    }
    const [of32, of33] = [few.length, more.length];
    expect(told.filter(([, count]) => count > 0)).toEqual([
      ['worked out', of32],
      ['worked out', of32],
      ['worked out', of33],
      ['remembered', of33],
      ['worked out', of33],
      ['remembered', of33],
    ]);
  });

  it('works out many objects each time: nobody reads all that is in them', async () => {
    const told: string[] = [];
    const metrics = {
      shortcut: (count: number) => void told.push(`worked out ${count}`),
      remembered: (count: number) => void told.push(`remembered ${count}`),
    };
    const expressions = ['value.a'].map(compiled);
    const [expression] = expressions as [CompiledExpression];
    const on = withShortcuts(forbidden(), { expressions, vcluster, metrics });
    const unread = () => expect.unreachable('nobody asked for it');
    const values = many(shortcutLimits.fewValues + 1).map((a) =>
      Object.defineProperty({ a }, 'b', { get: unread, enumerable: true }),
    );
    for (let time = 0; time < 2; time++) {
      const [result] = await on.evaluate({ hostObject: null, virtualObject: null, groups: [{ expression, values }] });
      expect(result).toEqual({ results: values.map(({ a }) => a), errors: [] });
    }
    expect(told).toEqual(['worked out 33', 'remembered 0', 'worked out 33', 'remembered 0']);
  });

  it('works out many values each time where their results hang on more than them', async () => {
    const sources = ['context.virtualObject.a + value', 'context.hostObject.a + value', 'context.path + value'];
    const { expressions, on } = open([...sources, 'valueExists ? value : "x"', 'context.vcluster.name'], forbidden());
    const values = many(shortcutLimits.fewValues + 1);
    const paths = values.map((_, at) => `p.${at}`);
    for (const [of, missing] of [
      ['1', 0],
      ['2', 1],
    ] as const) {
      const groups = expressions.map((expression, at) => ({
        expression,
        values,
        ...(at === 2 && { paths }),
        ...(at === 3 && { missing: new Set([missing]) }),
      }));
      const results = await on.evaluate({ hostObject: { a: `h${of}` }, virtualObject: { a: `t${of}` }, groups });
      expect(results.map((group) => group.results)).toEqual([
        values.map((value) => `t${of}${value}`),
        values.map((value) => `h${of}${value}`),
        values.map((value, at) => `p.${at}${value}`),
        values.map((value, at) => (at === missing ? 'x' : value)),
        values.map(() => 'vc'),
      ]);
    }
  });

  /** How often whoever is under way has let the loop go round. */
  function countTurns(): { count: number; stop: () => void } {
    const turns = { count: 0, stop: () => clearImmediate(next) };
    const turn = (): void => {
      turns.count++;
      next = setImmediate(turn);
    };
    let next = setImmediate(turn);
    return turns;
  }

  it.each([
    ['is known', 'last', undefined],
    ['is known but for the last value', 7, 'the other evaluator'],
  ] as const)('gives the loop its turns within one list that is longer than a share and %s', async (_, last, asked) => {
    const reached: ValueGroup[] = [];
    const { expressions, on } = open(['value.trim()', '"t-" + value'], forbidden(reached));
    const [long, short] = expressions as [CompiledExpression, CompiledExpression];
    const shares = 8;
    const values: unknown[] = many((shares * shortcutLimits.room) / (shortcutOf(long)?.steps ?? 1));
    values.splice(-1, 1, last);
    const groups = [
      { expression: long, values },
      { expression: short, values: ['a'] },
    ];
    const turns = countTurns();
    const results = await on.evaluate({ hostObject: null, virtualObject: null, groups });
    turns.stop();
    expect(results.map((group) => group.results)).toEqual([values, ['t-a']]);
    expect(turns.count).toBeGreaterThanOrEqual(shares - 1);
    expect(reached).toEqual(asked === undefined ? [] : [groups[0]]);
  });

  it('answers short lists at once, however many long ones are under way', async () => {
    const { expressions, on } = open(['value.trim()'], forbidden());
    const [expression] = expressions as [CompiledExpression];
    const ask = (values: readonly unknown[]) =>
      on.evaluate({ hostObject: null, virtualObject: null, groups: [{ expression, values }] });
    const steps = shortcutOf(expression)?.steps ?? 1;
    const long = many(Math.floor(shortcutLimits.parts / steps));
    let isOver = false;
    const under = Promise.all(Array.from({ length: 20 }, () => ask(long))).finally(() => {
      isOver = true;
    });
    let asked = 0;
    for (; !isOver; asked++) {
      expect(ask(['a'])).toEqual([{ results: ['a'], errors: [] }]);
      await new Promise(setImmediate);
    }
    await under;
    expect(asked).toBeGreaterThan(20);
  });

  it('goes through several long lists at a time without mixing them up', async () => {
    const { expressions, on } = open(['"t-" + value', 'value + context.virtualObject.a'], forbidden());
    const lists = Array.from({ length: 6 }, (_, list) => many(4_000).map((value) => `${list}-${value}`));
    const answers = await Promise.all(
      lists.map((values, list) => {
        const groups = expressions.map((expression) => ({ expression, values }));
        return on.evaluate({ hostObject: null, virtualObject: { a: list }, groups });
      }),
    );
    expect(answers.map((groups) => groups.map(({ results }) => results))).toEqual(
      lists.map((values, list) => [values.map((value) => `t-${value}`), values.map((value) => `${value}${list}`)]),
    );
  });

  it.each([
    ['knows', 'last'],
    ['knows but for the last', 7],
  ] as const)('gives the loop a turn after each share of what it %s', async (_, last) => {
    const { expressions, on } = open(['value.trim()'], forbidden());
    const [expression] = expressions as [CompiledExpression];
    const steps = shortcutOf(expression)?.steps ?? 0;
    const values: unknown[] = Array.from({ length: shortcutLimits.fewValues }, () => 'a');
    values.splice(-1, 1, last);
    const shares = 4;
    const requests = (shares * shortcutLimits.room) / (steps * values.length);
    const turns = countTurns();
    const ask = () => on.evaluate({ hostObject: null, virtualObject: null, groups: [{ expression, values }] });
    await Promise.all(Array.from({ length: requests }, ask));
    turns.stop();
    expect(turns.count).toBeGreaterThanOrEqual(shares - 1);
  });

  it('is done when its turn has come, however many turns it waited for', async () => {
    const expressions = ['value.trim()'].map(compiled);
    const [expression] = expressions as [CompiledExpression];
    const waiting = 200;
    let answered = 0;
    let ticks = 0;
    let isOver = false;
    const tick = (): void => {
      ticks++;
      if (!isOver) queueMicrotask(tick);
    };
    const metrics = { shortcut: () => void (++answered === waiting && queueMicrotask(tick)), remembered: () => {} };
    const on = withShortcuts(forbidden(), { expressions, vcluster, metrics });
    const values = Array.from({ length: shortcutLimits.fewValues }, () => 'a');
    const groups = Array.from({ length: 32 }, () => ({ expression, values }));
    const ask = () => on.evaluate({ hostObject: null, virtualObject: null, groups });
    await Promise.all(Array.from({ length: waiting }, ask));
    isOver = true;
    expect(answered).toBe(waiting);
    expect(ticks).toBeLessThan(50);
  });

  it('shows what the sandbox would: paths, values that do not exist, and a configuration without what JSON cannot hold', async () => {
    const expressions = ['context.path', 'valueExists ? value : "made"', 'context.vcluster.config.ratio ?? "none"'].map(
      compiled,
    );
    const on = withShortcuts(forbidden(), { expressions, vcluster: { config: { ratio: Number.NaN } } });
    const values = ['a', null];
    const groups = expressions.map((expression) => ({
      expression,
      values,
      missing: new Set([1]),
      paths: ['p.0', 'p.1'],
    }));
    const results = await on.evaluate({ hostObject: null, virtualObject: null, groups });
    expect(results.map((group) => group.results)).toEqual([
      ['p.0', 'p.1'],
      ['a', 'made'],
      ['none', 'none'],
    ]);
  });

  it('counts what it answered, and leaves everything else to the evaluator behind it', async () => {
    const calls: (string | number)[] = [];
    const inner: Evaluator = {
      ...forbidden(),
      start: async () => void calls.push('start'),
      stop: async () => void calls.push('stop'),
      quarantined: 3,
    };
    const expressions = ['value.trim()', '"t-" + value'].map(compiled);
    const metrics = { shortcut: (count: number) => void calls.push(count), remembered: () => {} };
    const on = withShortcuts(inner, { expressions, vcluster, metrics });
    await on.start();
    const groups = expressions.map((expression) => ({ expression, values: ['a', 7] }));
    await on.evaluate({ hostObject: null, virtualObject: null, groups });
    await on.stop();
    expect(calls).toEqual(['start', 2, 'stop']);
    expect(on.quarantined).toBe(3);
  });

  it('shows what the sandbox would of objects and paths that nobody gave', async () => {
    const expressions = ['context.hostObject === null', 'context.virtualObject === null', 'context.path'].map(compiled);
    const on = withShortcuts(forbidden(), { expressions, vcluster });
    const groups = expressions.map((expression) => ({ expression, values: ['a'], paths: [] }));
    const results = await on.evaluate({ hostObject: undefined, virtualObject: undefined, groups });
    expect(results.map((group) => group.results)).toEqual([[true], [true], ['']]);
  });
});

/** Random expressions of the kinds that shortcuts know, and of some that they nearly know. */
const { expression: anyExpression } = fc.letrec<{ expression: string }>((tie) => {
  const part = tie('expression');
  const text = fc.constantFrom('""', '"a"', '"10."', '" b "', '"Ä"', '"\\ud800"', '"$&"', '"."', '"length"', '"0"');
  const number = fc.constantFrom('0', '1', '-1', '2', '0.5', '8080', '1e309', '(0/0)');
  const method = fc.constantFrom('trim', 'toUpperCase', 'toLowerCase', 'trimStart', 'trimEnd', 'toString', 'at');
  const search = fc.constantFrom('startsWith', 'endsWith', 'includes', 'indexOf', 'lastIndexOf', 'split', 'concat');
  const key = fc.constantFrom(
    '.length',
    '[0]',
    '["a"]',
    '.a',
    '.b?.c',
    '[1]',
    '?.a',
    '["hasOwnProperty"]',
    '[-1]',
    '["01"]',
  );
  const operator = fc.constantFrom(
    '+',
    '-',
    '*',
    '/',
    '%',
    '===',
    '!==',
    '==',
    '!=',
    '<',
    '<=',
    '>',
    '>=',
    '&&',
    '||',
    '**',
    'in',
  );
  const sign = fc.oneof(
    { weight: 9, arbitrary: fc.constantFrom('a', 'b', 'e', '-', '\\.', '\\/', '\ud83d', 'ß', '\\-', 'we', 'W') },
    { weight: 1, arbitrary: fc.constantFrom('.', '$', '^', '\\w', '+') },
  );
  const signs = fc.array(sign, { minLength: 1, maxLength: 2 });
  const pattern = fc
    .tuple(fc.constantFrom('', '', '^'), signs, fc.constantFrom('', '', '$'), fc.constantFrom('', 'g', 'g', 'g'))
    .map(([start, body, end, flags]) => `/${start}${body.join('')}${end}/${flags}`);
  const leaf = fc.oneof(
    fc.constantFrom('value', 'value', 'value', 'valueExists', 'undefined', 'null', 'true', 'NaN'),
    fc.constantFrom('context.vcluster.name', 'context.virtualObject.metadata.labels["x.y/z"]', 'context.hostObject'),
    fc.constantFrom('context.virtualObject.list[1]', 'context.virtualObject?.missing?.more', 'context.path'),
    text,
    number,
  );
  return {
    expression: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      leaf,
      fc.tuple(part, operator, part).map(([a, sign, b]) => `(${a} ${sign} ${b})`),
      fc.tuple(part, part).map(([a, b]) => `((${a}) ?? (${b}))`),
      fc.tuple(part, part, part).map(([a, b, c]) => `(${a} ? ${b} : ${c})`),
      fc.tuple(fc.constantFrom('!', '-', 'typeof ', '+'), part).map(([sign, a]) => `(${sign} ${a})`),
      fc.tuple(part, key).map(([a, member]) => `(${a})${member}`),
      fc.tuple(part, fc.constantFrom('.', '?.'), method).map(([a, dot, name]) => `(${a})${dot}${name}()`),
      fc.tuple(part, fc.constantFrom('.', '?.'), search, part).map(([a, dot, name, b]) => `(${a})${dot}${name}(${b})`),
      fc
        .tuple(part, fc.constantFrom('slice', 'substring'), part, part)
        .map(([a, name, b, c]) => `(${a}).${name}(${b}, ${c})`),
      fc.tuple(part, part).map(([a, b]) => `(${a}).slice(${b})`),
      fc
        .tuple(part, fc.constantFrom('replace', 'replaceAll'), part, part)
        .map(([a, name, b, c]) => `(${a}).${name}(${b}, ${c})`),
      fc
        .tuple(part, fc.constantFrom('replace', 'replaceAll'), pattern, part)
        .map(([a, name, b, c]) => `(${a}).${name}(${b}, ${c})`),
      fc.tuple(pattern, part).map(([a, b]) => `${a}.test(${b})`),
      fc.tuple(part, part).map(([a, b]) => `\`<\${${a}}|\${${b}}>\``),
    ),
  };
});

const anyValue = fc.oneof(
  fc.constantFrom<unknown>('10.0.0.1', 'web', ' Web ', '', 'a.b.c', 'ÄÖß', '\ud83d\ude00', '\ud800', 'x'.repeat(600)),
  fc.constantFrom<unknown>(null, true, false, 0, 1, -1, 8080, 0.1, 1e21),
  fc.constantFrom<unknown>({ a: 'x', b: { c: 1 } }, ['p', 'q'], [], {}, { a: null }, { length: 'own' }),
);

describe('shortcuts and the sandbox', () => {
  const values = fc.sample(anyValue, { numRuns: 24, seed: 7 }).map((value) => structuredClone(value));

  /** Each value by itself, so that one that is not known does not hide the others. */
  async function compare(sources: readonly string[], ofValues: readonly unknown[]): Promise<number> {
    const expressions = sources.flatMap((source) => {
      const result = compileExpression(source);
      return result.kind === 'ok' && shortcutOf(result.expression) !== undefined ? [result.expression] : [];
    });
    if (expressions.length === 0) return 0;
    const sandbox = await evaluator({ expressions, vcluster, memo: { entries: 0 } });
    let known = 0;
    for (const expression of expressions) {
      const shortcut = shortcutOf(expression);
      const paths = ofValues.map(() => context.path);
      const group = { expression, values: structuredClone(ofValues), paths };
      const { hostObject, virtualObject } = context;
      const [told] = await sandbox.evaluate({ hostObject, virtualObject, groups: [group] });
      for (const [at, value] of ofValues.entries()) {
        const found = shortcut?.answer({ value, valueExists: true, context });
        if (found === unknown) continue;
        known++;
        const failed = told?.errors.find((error) => error.at === at);
        const wanted = { source: expression.source, value, result: told?.results[at] ?? null, error: undefined };
        expect({ source: expression.source, value, result: found, error: failed?.error.message }).toEqual(wanted);
      }
    }
    return known;
  }

  it('agree on the cases', async () => {
    const rows = answered.map((row) => ({ ...row, expression: compiled(row.expression) }));
    const sandbox = await evaluator({ expressions: rows.map(({ expression }) => expression), vcluster });
    const groups = rows.map(({ expression, value = null, valueExists = true }) => {
      return { expression, values: [value], missing: new Set(valueExists ? [] : [0]), paths: [context.path] };
    });
    const told = await sandbox.evaluate({ ...context, groups });
    expect(told.map(({ results, errors }) => [...results, ...errors])).toEqual(rows.map(({ result }) => [result]));
  });

  it('agree on every expression of other cases, the hostile and the documented ones', async () => {
    const of = (name: string) =>
      fixture<{ expression?: string; reverseExpression?: string }[]>(name).flatMap((row) => [
        row.expression,
        row.reverseExpression,
      ]);
    const sources = ['evaluations.json', 'vcluster-examples.json', 'hostile.json']
      .flatMap(of)
      .filter((one) => one !== undefined);
    expect(await compare(sources, values)).toBeGreaterThan(500);
  });

  it('agree on thousands of random ones', async () => {
    const runs = Number(process.env['HOSTWARD_SHORTCUT_RUNS'] ?? 3_000);
    const seed = Number(process.env['HOSTWARD_SHORTCUT_SEED'] ?? 20_261_121);
    const sources = fc.sample(anyExpression, { numRuns: runs, seed });
    let known = 0;
    for (let at = 0; at < sources.length; at += 500) known += await compare(sources.slice(at, at + 500), values);
    expect(known).toBeGreaterThan(runs * 3);
  }, 600_000);
});
