// Code for inside the isolate: takes one request, runs its expressions over its values, gives one answer. Everything that
// an expression throws or returns is looked at here, inside the time limit, and leaves as JSON that this code made itself.

export const realmRun = `
// Data from JSON: no cycles, no prototypes of its own.
const freezeData = (root) => {
  const open = [root];
  while (open.length > 0) {
    const part = open[open.length - 1];
    open.length -= 1;
    if (typeof part !== 'object' || part === null) continue;
    freeze(part);
    const names = objectKeys(part);
    for (let at = 0; at < names.length; at++) open[open.length] = part[names[at]];
  }
  return root;
};

const wrongType = (message) => fail('type', message);
const textResult = (text, most) => (text.length > most ? tooBig('result', most + ' characters') : text);
const hasWholeTexts = (x) => {
  if (typeof x === 'string') return isWellFormed(x);
  if (typeof x !== 'object' || x === null) return true;
  const names = objectKeys(x);
  for (let at = 0; at < names.length; at++) {
    if (!isWellFormed(names[at]) || !hasWholeTexts(x[names[at]])) return false;
  }
  return true;
};
const ownCopy = (x, state, depth) => {
  if (typeof x === 'string') {
    state.chars += x.length;
    if (state.chars > limits.text) tooBig('result', limits.text + ' characters');
    return textResult(x, limits.text);
  }
  if (x === null || x === undefined || typeof x === 'boolean') return x;
  if (typeof x === 'number') return x - x === 0 ? x : wrongType('result holds a number that JSON cannot hold: ' + x);
  if (typeof x !== 'object') return wrongType('result holds a ' + typeof x + ', wanted data');
  if (depth > limits.resultDepth) tooBig('result', limits.resultDepth + ' levels');
  if (isArray(x)) {
    if (x.length > limits.resultUnits) tooBig('result', limits.resultUnits + ' values');
    const out = [];
    for (let at = 0; at < x.length; at++) {
      spend(state);
      const part = ownCopy(x[at], state, depth + 1);
      out[at] = part === undefined ? null : part;
    }
    return out;
  }
  if (!isMap(x)) return wrongType('result is or holds an object of a class (Date, Map, RegExp …), wanted data');
  // Without a prototype: a frozen one would refuse keys like valueOf.
  const out = { __proto__: null };
  const names = objectKeys(x);
  for (let at = 0; at < names.length; at++) {
    const name = names[at];
    if (name === '__proto__') wrongType('result holds the key "__proto__"');
    spend(state);
    state.chars += textResult(name, limits.resultText).length;
    const part = ownCopy(x[name], state, depth + 1);
    if (part !== undefined) out[name] = part;
  }
  return out;
};
const spend = (state) => {
  if (++state.units > limits.resultUnits) tooBig('result', limits.resultUnits + ' values');
};
const resultOf = (x, state) => {
  if (x === undefined || x === null) return null;
  if (typeof x === 'number' && x - x !== 0) return wrongType('result is ' + x + ', wanted a number that JSON can hold');
  if (typeof x === 'function') return wrongType('result is a function, wanted data');
  state.chars = 0;
  state.units = 0;
  const copy = ownCopy(x, state, 0);
  if ((state.room -= state.chars + state.units) < 0) noRoom();
  return copy;
};
const noRoom = () => tooBig('all results of the object', limits.results + ' characters');

const kindOf = (thrown) => {
  const kind = typeof thrown === 'object' && thrown !== null ? mapGet(kinds, thrown) : undefined;
  return kind === undefined ? 'threw' : kind;
};
// No getters and no proxies can exist in here, so reading what was thrown runs no foreign code.
const messageOf = (thrown) => {
  if (typeof thrown === 'string') return textSlice(thrown, 0, limits.message);
  if (typeof thrown !== 'object' || thrown === null) return 'threw ' + (typeof thrown === 'function' ? 'a function' : NativeString(thrown));
  const { message } = thrown;
  return typeof message === 'string' && message !== '' ? textSlice(message, 0, limits.message) : 'threw an object without a message';
};

// The code of every expression begins a line, which ends with the head of the next one; the offset into it, and -1 where it is
// not known.
const placeOfThrow = (thrown, index) => {
  if (tracedFrames === 0 || typeof thrown !== 'object' || thrown === null) return -1;
  try {
    const { stack } = thrown;
    if (typeof stack !== 'string') return -1;
    const name = 'expressions:' + (2 * index + 2) + ':';
    let at = textIndexOf(stack, name, textIndexOf(stack, '\\n    at '));
    if (at < 0) return -1;
    at += name.length;
    let column = 0;
    for (let digit = charCodeAt(stack, at) - 48; digit >= 0 && digit <= 9; digit = charCodeAt(stack, ++at) - 48) {
      column = column * 10 + digit;
    }
    return column - 1;
  } catch {
    return -1;
  }
};

const functions = [];
let vcluster = null;
// exists and paths are 0 where all values exist and nobody asks where they stand.
const runGroup = (index, values, exists, paths, shared, state) => {
  const f = functions[index], isPlain = exists === 0 && paths === 0;
  const { hostObject, virtualObject } = shared;
  // In place, here and below: without a compiler, a list that grows takes as long as a simple expression.
  const results = values, faults = [];
  const count = values.length, mostChars = limits.resultText;
  // Mostly every value changes; then their numbers need not be said, and none are made.
  let changed = 0, known = 0;
  for (let at = 0; at < count; at++) {
    const value = values[at];
    try {
      const context = paths === 0 ? shared : freeze({ vcluster, hostObject, virtualObject, path: paths[at] });
      const result = isPlain ? f(value, true, shared) : f(value, exists === 0 || exists[at] === 1, context);
      let copy = result;
      if (typeof result === 'string') {
        if (result === value) continue;
        if (result.length > mostChars) textResult(result, mostChars);
        if ((state.room -= result.length) < 0) noRoom();
      } else {
        // An expression may change the parts of an object value and return the same object.
        if (typeof result !== 'object' || result === null) {
          if (result === value || (result === undefined && value === null)) continue;
        }
        copy = resultOf(result, state);
      }
      if (known !== at) {
        if (changed === 0) changed = firstNumbers(known);
        changed[known] = at;
      }
      results[known++] = copy;
    } catch (thrown) {
      faults[faults.length] = [at, kindOf(thrown), messageOf(thrown), placeOfThrow(thrown, index)];
    }
  }
  if (known === count && changed === 0) return results;
  results.length = known;
  return { changed: changed === 0 ? firstNumbers(known) : changed, results, faults };
};
const firstNumbers = (count) => {
  const numbers = [];
  for (let at = 0; at < count; at++) numbers[at] = at;
  return numbers;
};
// Half surrogate pairs are rare enough to look for them once, in the text that they were escaped in.
const wellFormed = (answer) => {
  const isPlain = isArray(answer), results = isPlain ? answer : answer.results;
  const kept = { changed: [], results: [], faults: isPlain ? [] : answer.faults };
  for (let at = 0; at < results.length; at++) {
    const place = isPlain ? at : answer.changed[at];
    if (hasWholeTexts(results[at])) {
      kept.changed[kept.changed.length] = place;
      kept.results[kept.results.length] = results[at];
    } else kept.faults[kept.faults.length] = [place, 'type', 'result holds half of a surrogate pair, wanted text', -1];
  }
  return kept;
};
// After both objects comes group upon group: the number of its expression and the values; below zero, and two more lists, where
// not all of them exist or somebody asks where they stand.
const firstGroup = 2;
const answerTo = (request) => {
  const asked = parseJson(request);
  if (!isArray(asked)) throw new AnyFault('the request is no list');
  const shared = freeze({ vcluster, hostObject: freezeData(asked[0]), virtualObject: freezeData(asked[1]), path: '' });
  const state = { room: limits.results, chars: 0, units: 0 };
  // In place as well: the answers never get ahead of what is asked.
  const answers = asked;
  let count = 0;
  for (let at = firstGroup; at < asked.length; count++) {
    const index = asked[at++], values = asked[at++];
    if (index >= 0) answers[count] = runGroup(index, values, 0, 0, shared, state);
    else answers[count] = runGroup(-1 - index, values, asked[at++], asked[at++], shared, state);
  }
  answers.length = count;
  const json = stringifyJson(answers);
  if (textIndexOf(json, '\\\\ud') < 0) return json;
  for (let at = 0; at < answers.length; at++) answers[at] = wellFormed(answers[at]);
  return stringifyJson(answers);
};
// Said once for each group: there can be more values than an answer could say it of.
const tooLargeFor = (request) => {
  const asked = parseJson(request), answers = [];
  const message = 'all results of the object are larger than ' + limits.answer + ' characters of JSON';
  for (let at = firstGroup; at < asked.length; at += asked[at] >= 0 ? 2 : 4) {
    answers[answers.length] = { changed: [], results: [], faults: message };
  }
  return stringifyJson(answers);
};
// Texts come and go in lists: a bare one of more than 1 KiB would be memory that nobody counts.
const run = (requests) => {
  let room = limits.answer;
  for (let at = 0; at < requests.length; at++) {
    const answer = answerTo(requests[at]);
    if ((room -= answer.length) >= 0) requests[at] = answer;
    else if (requests.length > 1) return [];
    else requests[at] = tooLargeFor(requests[at]);
  }
  return requests;
};
const offer = (name, factory) => {
  if (typeof factory !== 'function') throw new AnyFault('function ' + name + ' has no source that gives a function');
  const f = factory({ sha256Hex });
  defineProperty(globals, name, { value: f, writable: false, enumerable: false, configurable: true });
  keptGlobals.push(name);
  seeds.push(f);
};
const begin = (text) => {
  vcluster = freezeData(parseJson(text));
  harden();
};
const take = (list, count) => {
  if (!isArray(list) || list.length !== count) throw new AnyFault('the list of expressions is not what was sent');
  for (let at = 0; at < count; at++) functions[at] = freeze(list[at]);
};
`;
