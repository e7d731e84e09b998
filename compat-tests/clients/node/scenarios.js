'use strict';
// What node-zookeeper-client can do, and what it is told.

const zookeeper = require('node-zookeeper-client');
const { events, SHORT, LONG } = require('./script.js');

const { CreateMode, ACL, Id, Permission } = zookeeper;
const b = (text) => Buffer.from(text);

async function nodes(s) {
  const c = await s.client();
  const r = s.root;
  await s.attempt('create', () => c.create(r, b('one')));
  await s.attempt('create again', () => c.create(r));
  await s.attempt('create without a parent', () => c.create(`${r}/x/y`));
  await s.attempt('mkdirp', () => c.mkdirp(`${r}/p/q`));
  await s.attempt('null', () => c.create(`${r}/null`));
  await s.attempt('its data', () => c.getData(`${r}/null`));
  await s.attempt('empty', () => c.create(`${r}/empty`, b('')));
  await s.attempt('its data', () => c.getData(`${r}/empty`));
  await s.attempt('sequential', () => c.create(`${r}/n-`, CreateMode.PERSISTENT_SEQUENTIAL));
  await s.attempt('ephemeral', () => c.create(`${r}/e`, b('e'), CreateMode.EPHEMERAL));
  await s.attempt('both', () => c.create(`${r}/n-`, CreateMode.EPHEMERAL_SEQUENTIAL));
  await s.attempt('a child of an ephemeral', () => c.create(`${r}/e/x`));
  await s.attempt('data', () => c.getData(r));
  await s.attempt('data of nothing', () => c.getData(`${r}/none`));
  await s.attempt('exists', () => c.exists(`${r}/e`));
  await s.attempt('exists nothing', () => c.exists(`${r}/none`));
  await s.attempt('set', () => c.setData(r, b('two'), 0));
  await s.attempt('set, wrong version', () => c.setData(r, b('two'), 5));
  await s.attempt('set nothing', () => c.setData(`${r}/none`, b('x')));
  await s.attempt('children', () => c.getChildren(r).then(([names, stat]) => [[...names].sort(), stat]));
  await s.attempt('children of a leaf', () => c.getChildren(`${r}/e`));
  await s.attempt('children of nothing', () => c.getChildren(`${r}/none`));
  await s.attempt('the tree', () => c.listSubTreeBFS(r));
  await s.attempt('delete with children', () => c.remove(r));
  await s.attempt('delete, wrong version', () => c.remove(`${r}/null`, 4));
  await s.attempt('delete', () => c.remove(`${r}/null`, 0));
  await s.attempt('delete nothing', () => c.remove(`${r}/null`));
  await s.attempt('900,000 bytes', () => c.create(`${r}/big`, Buffer.alloc(900000, 'x')));
  await s.attempt('come back', () => c.getData(`${r}/big`));
  await s.attempt('outside ASCII', () => c.create(`${r}/größe-漢字`));
  await s.attempt('delete all', () => c.removeRecursive(`${r}/p`));
  await c.create(`${r}/chroot`);
  const below = await s.connect(`${s.direct}${r}/chroot`, LONG);
  await s.attempt('chroot: create', () => below.create('/x'));
  await s.attempt('list', () => below.getChildren('/'));
  await s.attempt('from outside', () => c.getChildren(`${r}/chroot`));
  const many = await Promise.all(Array.from({ length: 200 }, () => c.create(`${r}/m-`, CreateMode.EPHEMERAL_SEQUENTIAL)));
  s.say(`200 at once: in order ${many.join() === [...many].sort().join()}, last ${many.at(-1)}`);
}

async function transactions(s) {
  const c = await s.client();
  const r = s.root;
  await c.create(r);
  const commit = async (what, fill) => {
    const t = c.zk.transaction();
    fill(t);
    await new Promise((done) => t.commit((error, results) => {
      const all = (results || []).map((x) => `${x.type}/${x.err}/${x.path}`);
      s.say(`${what} -> ${error ? error.getName() : 'fine'} ${all.join(', ')}`);
      done();
    }));
  };
  await commit('everything', (t) => t.create(`${r}/a`, b('1')).create(`${r}/a/b`).create(`${r}/n-`, CreateMode.EPHEMERAL_SEQUENTIAL)
    .setData(`${r}/a`, b('2'), 0).check(`${r}/a`, 1).remove(`${r}/a/b`));
  await commit('a check fails', (t) => t.create(`${r}/x`).check(`${r}/a`, 7).create(`${r}/y`));
  await commit('a create fails', (t) => t.create(`${r}/a`).create(`${r}/y`));
  await commit('no parent', (t) => t.setData(`${r}/a`, b('3')).create(`${r}/none/x`));
  await commit('not empty', (t) => t.create(`${r}/p`).create(`${r}/p/q`).remove(`${r}/p`));
  await s.attempt('children', () => c.getChildren(r).then(([names]) => [...names].sort()));
  await s.attempt('data', () => c.getData(`${r}/a`));
}

async function access(s) {
  const c = await s.client();
  const other = await s.client();
  const r = s.root;
  await c.create(r);
  await s.attempt('ACL', () => c.getACL(r));
  await s.attempt("creator's without an identity", () => c.create(`${r}/auth`, ACL.CREATOR_ALL_ACL));
  c.zk.addAuthInfo('digest', b('u:p'));
  await s.attempt("creator's with an identity", () => c.create(`${r}/auth`, b('secret'), ACL.CREATOR_ALL_ACL));
  await s.attempt('its ACL', () => c.getACL(`${r}/auth`));
  await s.attempt('a stranger reads', () => other.getData(`${r}/auth`));
  await s.attempt('a stranger sets', () => other.setData(`${r}/auth`, b('x')));
  await s.attempt('a stranger lists', () => other.getChildren(`${r}/auth`));
  other.zk.addAuthInfo('digest', b('u:p'));
  await s.attempt('no stranger reads', () => other.getData(`${r}/auth`));
  const reading = [new ACL(Permission.READ | Permission.ADMIN, Id.ANYONE_ID_UNSAFE)];
  await s.attempt('set the ACL', () => c.setACL(r, reading, 0));
  await s.attempt('set it, wrong version', () => c.setACL(r, reading, 5));
  await s.attempt('create', () => c.create(`${r}/x`));
  await s.attempt('delete', () => c.remove(`${r}/auth`));
  const bad = await s.client();
  bad.zk.addAuthInfo('nosuch', b('x'));
  await s.until('the client is told', () => bad.states.includes('AUTH_FAILED'));
  s.say(`an unknown scheme: ${bad.states.includes('AUTH_FAILED')}`);
}

async function watches(s) {
  const c = await s.client();
  const other = await s.client();
  const r = s.root;
  const a = `${r}/a`;
  await c.create(r);
  const e = events();
  const step = async (what, arm, change) => {
    await arm();
    await change();
    await s.fence(c);
    s.say(`${what}: ${e.take()}`);
  };
  const none = async () => {};
  await step('exists, created', () => c.exists(a, e), () => other.create(a));
  await step('no second event', none, () => other.setData(a, b('1')));
  await step('exists, set', () => c.exists(a, e), () => other.setData(a, b('2')));
  await step('data, a child', () => c.getData(a, e), () => other.create(`${a}/b`));
  await step('data, set to the same', none, () => other.setData(a, b('2')));
  await step('children, set', () => c.getChildren(a, e), () => other.setData(a, b('3')));
  await step('children, a grandchild', none, () => other.create(`${a}/b/c`));
  await step('children, created', none, () => other.create(`${a}/d`));
  await step('children, deleted', () => c.getChildren(a, e), () => other.remove(`${a}/d`));
  await other.removeRecursive(`${a}/b`);
  const [data, children, parent] = [events(), events(), events()];
  await c.getData(a, data);
  await c.getChildren(a, children);
  await c.getChildren(r, parent);
  await step('exists, deleted', () => c.exists(a, e), () => other.remove(a));
  s.say(`data ${data.take()}, children ${children.take()}, parent ${parent.take()}`);
  const gone = await s.client();
  await gone.create(`${r}/e`, CreateMode.EPHEMERAL);
  await c.exists(`${r}/e`, e);
  gone.zk.close();
  await s.until('the event of a closed session has come', () => e.seen.length > 0);
  s.say(`its session closed: ${e.take()}`);
}

async function sessions(s) {
  const c = await s.exposed(LONG);
  const other = await s.client();
  const r = s.root;
  await other.create(r);
  await other.create(`${r}/data`, b('1'));
  await other.create(`${r}/dir`);
  await c.create(`${r}/e`, CreateMode.EPHEMERAL);
  s.say(`granted ${c.zk.getSessionTimeout()}, password ${c.zk.getSessionPassword().length} bytes`);
  const owner = c.owner();
  const [data, dir, later, still, seen] = [events(), events(), events(), events(), events()];
  await c.getData(`${r}/data`, data);
  await c.getChildren(`${r}/dir`, dir);
  await c.exists(`${r}/later`, later);
  await c.exists(`${r}/e`, still);
  await other.exists(`${r}/e`, seen);
  await s.inflict('refuse');
  await s.until('the client notices', () => c.states.includes('DISCONNECTED'));
  await other.setData(`${r}/data`, b('2'));
  await other.create(`${r}/dir/x`);
  await other.create(`${r}/later`);
  await s.inflict('accept');
  await s.until('the client is back', () => c.states.at(-1) === 'SYNC_CONNECTED');
  await s.fence(c);
  s.say(`resumed: ${c.took()}, same session ${c.owner() === owner}`);
  s.say(`watches: data ${data.take()}, dir ${dir.take()}, later ${later.take()}, still ${still.take()}`);
  await s.fence(other);
  s.say(`others see ${seen.take()}`);
  await other.remove(`${r}/e`);
  await s.fence(c);
  s.say(`what did not change is still watched: ${still.take()}`);

  const d = await s.exposed(SHORT);
  await d.create(`${r}/gone`, CreateMode.EPHEMERAL);
  const end = events();
  await other.exists(`${r}/gone`, end);
  await s.inflict('refuse');
  await s.until('the session ends', () => end.seen.length > 0);
  s.say(`expired: ${end.take()}`);
  await s.inflict('accept');
  await s.until('the client is told', () => d.states.includes('EXPIRED') && d.states.at(-1) === 'DISCONNECTED');
  s.say(`states: ${d.took()}`);
  await s.attempt('its operations', () => d.exists(r));
  const next = await s.client();
  await s.attempt('registered again', () => next.create(`${r}/gone`, CreateMode.EPHEMERAL));
  next.zk.close();
  await s.until('it is closed', async () => !(await other.exists(`${r}/gone`)));
  await s.attempt('left', () => other.getChildren(r).then(([names]) => [...names].sort()));
}

module.exports = { nodes, transactions, access, watches, sessions };
