'use strict';
// What the scenarios have in common: clients, a transcript, and faults.

const readline = require('readline');
const zookeeper = require('node-zookeeper-client');

const PATIENCE = 40000; // ms, how long something may take before a scenario gives up
const SHORT = 4000; // ms, timeout of sessions that are to end
const LONG = 20000; // ms, of the others

const answers = readline.createInterface({ input: process.stdin })[Symbol.asyncIterator]();
let asking = Promise.resolve();

/** Has the driver do something to the network, one thing at a time. */
function inflict(server, fault) {
  asking = asking.then(async () => {
    console.log(`${server} DO ${fault}`);
    const { value } = await answers.next();
    if (value !== 'done') {
      throw new Error(`the driver answers ${value} to ${fault}`);
    }
  });
  return asking;
}

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

/** One scenario's run against one server. */
class Script {
  constructor(name, server, relay, direct) {
    Object.assign(this, { name, server, relay, direct, root: `/node-${name}`, clients: [], fences: 0 });
  }

  say(text) {
    console.log(`${this.server}> ${this.name}: ${text}`);
  }

  inflict(fault) {
    return inflict(this.server, fault);
  }

  /** A connected client that is never cut off. */
  client() {
    return this.connect(this.direct, LONG);
  }

  /** A connected client that can be cut off. */
  exposed(sessionTimeout) {
    return this.connect(this.relay, sessionTimeout);
  }

  async connect(address, sessionTimeout) {
    const c = new Client(address, sessionTimeout);
    this.clients.push(c);
    await this.until('connected', () => c.states.at(-1) === 'SYNC_CONNECTED');
    c.states.length = 0;
    return c;
  }

  close() {
    for (const c of this.clients) {
      c.zk.close();
    }
  }

  /** Calls, and says what comes of it. */
  async attempt(what, call) {
    try {
      const result = await call();
      this.say(`${what} -> ${render(result)}`);
      return result;
    } catch (e) {
      this.say(`${what} -> ${render(e)}`);
      return undefined;
    }
  }

  async until(what, holds) {
    for (const end = Date.now() + PATIENCE; !(await holds()); await sleep(10)) {
      if (Date.now() > end) {
        throw new Error(`waited in vain until ${what}`);
      }
    }
  }

  /** Returns when every event that the server had for the client has come. */
  async fence(c) {
    const dir = `${this.root}-fence`;
    await c.mkdirp(dir);
    this.fences += 1;
    const path = `${dir}/${this.fences}`;
    let seen = false;
    await c.exists(path, () => {
      seen = true;
    });
    await c.create(path);
    await this.until('a fence has come', () => seen);
  }
}

/** The library's client with promises, and the states it went through. */
class Client {
  constructor(address, sessionTimeout) {
    this.zk = zookeeper.createClient(address, { sessionTimeout, spinDelay: 200, retries: 0 });
    this.states = [];
    this.zk.on('state', (state) => {
      if (this.states.at(-1) !== state.name) {
        this.states.push(state.name);
      }
    });
    for (const name of ['create', 'remove', 'removeRecursive', 'setData', 'setACL', 'getACL', 'listSubTreeBFS', 'mkdirp']) {
      this[name] = (...args) => promised((done) => this.zk[name](...args, done));
    }
    for (const name of ['getData', 'exists', 'getChildren']) {
      this[name] = (path, watcher) => promised((done) => this.zk[name](path, watcher, done));
    }
    this.zk.connect();
  }

  took() {
    return this.states.splice(0).join(' ') || 'none';
  }

  owner() {
    return this.zk.getSessionId().toString('hex');
  }
}

function promised(call) {
  return new Promise((resolve, reject) => {
    call((error, ...results) => (error ? reject(error) : resolve(results.length > 1 ? results : results[0])));
  });
}

/** A watcher that remembers the events it got. */
function events() {
  const seen = [];
  const watcher = (e) => seen.push(`${e.getName()} ${e.getPath()}`);
  watcher.seen = seen;
  watcher.take = () => seen.splice(0).join('; ') || 'nothing';
  return watcher;
}

/** A result as text, without what differs from run to run. */
function render(value) {
  if (value === undefined || value === null) {
    return String(value);
  }
  if (value instanceof Error) {
    return typeof value.getName === 'function' ? `${value.getName()} ${value.getCode()} ${value.path || ''}` : value.message;
  }
  if (Buffer.isBuffer(value)) {
    return value.length > 100 ? `${value.length} bytes` : JSON.stringify(value.toString());
  }
  if (Array.isArray(value)) {
    const all = value.every((v) => typeof v === 'string') ? [...value].sort() : value;
    return `[${all.map(render).join(', ')}]`;
  }
  if (value.czxid) {
    return stat(value);
  }
  if (value.permission !== undefined && value.id) {
    return `${value.id.scheme}:${value.id.id}:${value.permission}`;
  }
  if (typeof value === 'object') {
    return JSON.stringify(Object.fromEntries(Object.entries(value).map(([k, v]) => [k, v && v.czxid ? stat(v) : v])));
  }
  return String(value);
}

function stat(s) {
  const owner = s.ephemeralOwner.every((b) => b === 0) ? 'none' : 'somebody';
  const sign = (a, b) => ['<', '=', '>'][Buffer.compare(a, b) + 1];
  return `Stat(v${s.version} cv${s.cversion} av${s.aversion} length ${s.dataLength} children ${s.numChildren} owner ${owner}` +
    ` c${sign(s.czxid, s.mzxid)}m c${sign(s.czxid, s.pzxid)}p)`;
}

module.exports = { Script, events, SHORT, LONG };
