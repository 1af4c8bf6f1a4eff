//! The C library's side, declared by hand: no crate can be fetched where this is built.
//!
//! Constants are Linux's; those that differ between machines are chosen by architecture. Never edit
//! one from memory: each was read from the system headers. Sizes are those of 64-bit machines.

#[cfg(not(target_pointer_width = "64"))]
compile_error!("the declarations here are those of 64-bit Linux");

use std::ffi::{c_char, c_int, c_long, c_uint, c_void};

pub const AT_FDCWD: c_int = -100;
pub const AT_EMPTY_PATH: c_int = 0x1000;
pub const AT_SYMLINK_NOFOLLOW: c_int = 0x100;
pub const STATX_BASIC_STATS: c_uint = 0x7ff;

pub const O_RDONLY: c_int = 0;
pub const O_WRONLY: c_int = 1;
pub const O_RDWR: c_int = 2;
pub const O_CREAT: c_int = 0o100;
pub const O_EXCL: c_int = 0o200;
pub const O_NOCTTY: c_int = 0o400;
pub const O_APPEND: c_int = 0o2000;
pub const O_NONBLOCK: c_int = 0o4000;
pub const O_CLOEXEC: c_int = 0o2000000;
#[cfg(any(target_arch = "aarch64", target_arch = "arm", target_arch = "powerpc64"))]
pub const O_NOFOLLOW: c_int = 0o100000;
#[cfg(not(any(target_arch = "aarch64", target_arch = "arm", target_arch = "powerpc64")))]
pub const O_NOFOLLOW: c_int = 0o400000;

pub const LOCK_EX: c_int = 2;
pub const LOCK_NB: c_int = 4;
pub const F_SETFD: c_int = 2;
pub const F_DUPFD_CLOEXEC: c_int = 1030;
pub const MFD_CLOEXEC: c_uint = 1;
pub const X_OK: c_int = 1;

pub const AF_UNIX: c_int = 1;
pub const SOCK_STREAM: c_int = 1;
pub const SOL_SOCKET: c_int = 1;
pub const SO_PEERCRED: c_int = 17;
pub const MSG_NOSIGNAL: c_int = 0x4000;
pub const MSG_DONTWAIT: c_int = 0x40;
pub const POLLIN: i16 = 1;
pub const POLLOUT: i16 = 4;

pub const CLOCK_REALTIME: c_int = 0;
pub const CLOCK_MONOTONIC: c_int = 1;
pub const TCGETS: u64 = 0x5401;

pub const SIGKILL: c_int = 9;
pub const SIGINT: c_int = 2;
pub const SIGPIPE: c_int = 13;
pub const SIGTERM: c_int = 15;
pub const SIGCHLD: c_int = 17;
pub const SIGXFSZ: c_int = 25;
pub const SIG_DFL: usize = 0;
pub const SIG_IGN: usize = 1;
pub const CLONE_VM: c_int = 0x100;
pub const CLONE_VFORK: c_int = 0x4000;
/// The same number on every architecture: the call is younger than their common table.
pub const SYS_CLOSE_RANGE: c_long = 436;

pub const ENOENT: c_int = 2;
pub const EINTR: c_int = 4;
pub const EAGAIN: c_int = 11;
pub const EACCES: c_int = 13;
pub const EEXIST: c_int = 17;
pub const ENOTDIR: c_int = 20;
pub const ENOTSOCK: c_int = 88;

/// `struct statx`, one layout on every architecture (unlike `struct stat`, hence statx).
#[repr(C)]
pub struct Statx {
    pub mask: u32,
    pub blksize: u32,
    pub attributes: u64,
    pub nlink: u32,
    pub uid: u32,
    pub gid: u32,
    pub mode: u16,
    pub pad: u16,
    pub ino: u64,
    pub size: u64,
    pub blocks: u64,
    pub attributes_mask: u64,
    /// Last access, birth, change, modification: each seconds, then nanoseconds.
    pub times: [i64; 8],
    pub rdev: [u32; 2],
    pub dev_major: u32,
    pub dev_minor: u32,
    pub spare: [u64; 14],
}

#[repr(C)]
pub struct Timespec {
    pub sec: i64,
    pub nsec: i64,
}

#[repr(C)]
pub struct PollFd {
    pub fd: c_int,
    pub events: i16,
    pub revents: i16,
}

#[repr(C)]
pub struct IoVec {
    pub base: *const u8,
    pub len: usize,
}

#[repr(C)]
pub struct MsgHdr {
    pub name: *const c_void,
    pub namelen: u32,
    pub iov: *const IoVec,
    pub iovlen: usize,
    pub control: *const c_void,
    pub controllen: usize,
    pub flags: c_int,
}

#[repr(C)]
pub struct SockAddrUn {
    pub family: u16,
    pub path: [u8; 108],
}

#[repr(C)]
pub struct Ucred {
    pub pid: c_int,
    pub uid: u32,
    pub gid: u32,
}

extern "C" {
    pub static environ: *const *const c_char;

    pub fn __errno_location() -> *mut c_int;
    pub fn _exit(code: c_int) -> !;
    pub fn access(path: *const c_char, mode: c_int) -> c_int;
    pub fn chdir(path: *const c_char) -> c_int;
    pub fn clock_gettime(clock: c_int, out: *mut Timespec) -> c_int;
    pub fn clone(
        run: extern "C" fn(*mut c_void) -> c_int,
        stack: *mut c_void,
        flags: c_int,
        arg: *mut c_void,
        ...
    ) -> c_int;
    pub fn close(fd: c_int) -> c_int;
    pub fn connect(fd: c_int, address: *const SockAddrUn, len: u32) -> c_int;
    pub fn dup2(from: c_int, to: c_int) -> c_int;
    pub fn execve(path: *const c_char, argv: *const *const c_char, envp: *const *const c_char) -> c_int;
    pub fn fcntl(fd: c_int, command: c_int, ...) -> c_int;
    pub fn flock(fd: c_int, operation: c_int) -> c_int;
    pub fn ftruncate(fd: c_int, length: i64) -> c_int;
    pub fn getcwd(buffer: *mut c_char, size: usize) -> *mut c_char;
    pub fn getrandom(buffer: *mut c_void, len: usize, flags: c_uint) -> isize;
    pub fn getsockopt(fd: c_int, level: c_int, name: c_int, value: *mut c_void, len: *mut u32) -> c_int;
    pub fn getppid() -> c_int;
    pub fn getuid() -> u32;
    pub fn ioctl(fd: c_int, request: u64, ...) -> c_int;
    pub fn kill(pid: c_int, number: c_int) -> c_int;
    pub fn memfd_create(name: *const c_char, flags: c_uint) -> c_int;
    pub fn mkdir(path: *const c_char, mode: c_uint) -> c_int;
    pub fn nanosleep(wanted: *const Timespec, left: *mut Timespec) -> c_int;
    pub fn open(path: *const c_char, flags: c_int, ...) -> c_int;
    pub fn pipe2(ends: *mut c_int, flags: c_int) -> c_int;
    pub fn poll(fds: *mut PollFd, count: u64, timeout_ms: c_int) -> c_int;
    pub fn pread(fd: c_int, buffer: *mut c_void, len: usize, offset: i64) -> isize;
    pub fn pwrite(fd: c_int, buffer: *const c_void, len: usize, offset: i64) -> isize;
    pub fn read(fd: c_int, buffer: *mut c_void, len: usize) -> isize;
    pub fn readlink(path: *const c_char, buffer: *mut c_char, size: usize) -> isize;
    pub fn sendmsg(fd: c_int, message: *const MsgHdr, flags: c_int) -> isize;
    pub fn setsid() -> c_int;
    pub fn signal(number: c_int, handler: usize) -> usize;
    pub fn socket(domain: c_int, kind: c_int, protocol: c_int) -> c_int;
    pub fn statx(dir: c_int, path: *const c_char, flags: c_int, mask: c_uint, out: *mut Statx) -> c_int;
    pub fn symlink(target: *const c_char, path: *const c_char) -> c_int;
    pub fn syscall(number: c_long, ...) -> c_long;
    pub fn unlink(path: *const c_char) -> c_int;
    pub fn waitpid(pid: c_int, status: *mut c_int, options: c_int) -> c_int;
    pub fn write(fd: c_int, buffer: *const c_void, len: usize) -> isize;
}
